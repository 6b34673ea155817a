"""Resolves branches, tags and ids to commits. Names are not cached, because references may move."""

from __future__ import annotations

from functools import partial

from nightshift.git.commands import Git
from nightshift.git.processes import Output
from nightshift.git.session import Session


class Names:
    """Resolves names through one `cat-file` process that stays open.

    The process runs in the repository itself, because our view of the repository has no references.
    """

    def __init__(self, git: Git) -> None:
        self._session = Session(git, "cat-file", "--batch-check=%(objectname) %(objecttype)")

    def resolve(self, *names: str) -> list[str | None]:
        """Return the full id of the commit that each name stands for, or None.

        A name that looks like an option is still treated as a name.
        """
        asked = [name for name in names if "\n" not in name]
        lines = "".join(f"{name}^{{commit}}\n" for name in asked).encode("utf-8", "surrogateescape")
        answers = self._session.ask(lines, partial(_lines, count=len(asked)))
        ids = {
            name: line.split()[0] if line.endswith(" commit") else None
            for name, line in zip(asked, answers, strict=True)
        }
        return [ids.get(name) for name in names]

    def close(self) -> None:
        """End the process; the next call of `resolve` starts another one."""
        self._session.close()


def _lines(answer: Output, count: int) -> list[str]:
    lines = [answer.readline() for _ in range(count)]
    if not all(line.endswith(b"\n") for line in lines):
        raise EOFError("cut off")
    return [line.decode("utf-8", "replace").rstrip("\n") for line in lines]
