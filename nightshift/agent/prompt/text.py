"""Prompt texts from `agent/prompts/`, and the markers around all text that is data.

A system prompt is composed of files that never change within a task, so that a provider's prompt cache hits; the text
that changes from call to call is at the end of the user's message. Everything from a task, a repository, a test run or
memory is quoted between two marker lines that carry a digest of the quoted text. To end its quotation early and
continue as an instruction, a text would have to contain its own digest, which nobody can compute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from nightshift.core.dialogue import Message
from nightshift.core.tasks.states import Phase

_SEAL = 16
"""Hexadecimal digits of the digest in a marker. Ten would be too few: trying 2^40 texts takes only minutes."""
_FOLDER = Path(__file__).resolve().parent.parent / "prompts"
FILES = {
    Phase.CLARIFYING: "reprompter",
    Phase.PLANNING: "planner",
    Phase.CODING: "coder",
    Phase.REVIEW: "reviewer",
    Phase.AUDIT: "auditor",
    Phase.TESTING: "tester",
    Phase.REFLECTING: "reflector",
}

_LANGUAGES = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    "go": "go",
    "md": "markdown",
}


@cache
def prompt_file(name: str) -> str:
    """Return the text of `agent/prompts/<name>.md`; each file is read once."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()


def system(phase: Phase, *parts: str, main: str = "") -> Message:
    """Return the system prompt of a phase, which begins with `Phase: NAME`, followed by the named files.

    `main` replaces the phase's usual first file.
    """
    texts = [prompt_file(main or FILES[phase]), prompt_file("data"), *(prompt_file(part) for part in parts)]
    return Message(role="system", text="\n\n".join(texts) + "\n")


def quote(label: str, text: str) -> str:
    """Quote a text as data, between markers that it cannot contain."""
    seal = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SEAL]
    return f"----- begin {label} {seal} -----\n{text.rstrip(chr(10))}\n----- end {label} {seal} -----"


def fence(path: str, text: str) -> str:
    """Return a file in the form in which replies carry files."""
    return code_block(path, text, f' path="{path}"' if " " in path else f" path={path}")


def code_block(path: str, text: str, more: str = "") -> str:
    """Return a file's text in a fence longer than any inside it, marked with the file's language."""
    fence = "`" * max(3, max(map(_run, text.split("\n"))) + 1)
    extension = path.rsplit(".", 1)[-1].lower() if "." in path else ""
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{_LANGUAGES.get(extension, extension or 'text')}{more}\n{text}{end}{fence}"


def _run(line: str) -> int:
    body = line.strip()
    return len(body) - len(body.lstrip("`"))


def user_message(parts: Iterable[tuple[str, str]]) -> Message:
    """Return a user message of sections with their titles, if any; empty sections are left out."""
    shown = (f"## {title}\n\n{text}" if title else text for title, text in parts if text.strip())
    return Message(role="user", text="\n\n".join(shown) + "\n")
