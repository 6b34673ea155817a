"""Translates a `go test` command into the test files that it runs. Other commands are not translated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nightshift.core.code.golang import is_test

_WITH_VALUE = frozenset({"-timeout", "-count", "-parallel", "-p", "-cpu"})
_HARMLESS = frozenset({"-v", "-json", "-race", "-short", "-failfast", *_WITH_VALUE})


@dataclass(frozen=True, slots=True, kw_only=True)
class GoCommand:
    """A `go test` command with its packages, which are relative to the root of the tree."""

    packages: tuple[str, ...]

    def files(self, paths: Collection[str]) -> list[str]:
        """Return the paths of the test files that the command runs, without those that `./...` excludes."""
        return [path for path in paths if is_test(path) and any(_matches(package, path) for package in self.packages)]


def parse(argv: Sequence[str]) -> GoCommand | None:
    """Parse a command; None if it is not `go test`, selects tests by name, or sets build tags."""
    if tuple(argv[:2]) != ("go", "test"):
        return None
    packages, words = list[str](), list(argv[2:])
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            name = word.partition("=")[0]
            if name not in _HARMLESS:
                return None
            if name in _WITH_VALUE and "=" not in word and words:
                words.pop(0)
        elif word == "." or word.startswith("./"):
            packages.append(word)
        else:
            return None
    return GoCommand(packages=tuple(packages) or (".",))


def _matches(package: str, path: str) -> bool:
    folder = path.rpartition("/")[0]
    wanted = package.removeprefix("./").rstrip("/")
    if wanted == "..." or wanted.endswith("/..."):
        top = wanted.removesuffix("...").rstrip("/")
        below = not top or folder == top or folder.startswith(f"{top}/")
        parts = folder.removeprefix(top).split("/")
        return below and not any(part in {"testdata", "vendor"} or part.startswith(("_", ".")) for part in parts)
    return folder == ("" if wanted == "." else wanted)
