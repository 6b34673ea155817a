"""The signature of an error: what stays the same when the same mistake is made again elsewhere.

Kept are the exception's type, the words of its message and the names of functions in own code. Paths, line numbers,
addresses, quoted values, ids, numbers and times become placeholders, so that two runs, two machines and two values
give one signature. What a value said about the mistake is kept where it can be told: the name of an operating system's
error, an error within quotes, which bracket it was, and how the sides of a comparison differ (`memory.relation`).
"""

from __future__ import annotations

import re

from memory.placeholders import without_values
from memory.relation import difference, relation

MAX_CHARS = 1500
MAX_FRAMES = 6

ERROR_NAME = re.compile(
    r"\b(?!Assertion)(?:[A-Z]\w*)?(?:Error|Exception|Warning|Expired|Interrupt|Exit|Missing|Full|Empty)\b"
    r"|\b[a-z]\w*\.\w*error\b|\bStopIteration\b"
    r"|(?:(?<=\.)|^)(?!Assertion)[A-Z][a-z]+(?:[A-Z][a-z]+)+(?=: )",
    re.MULTILINE,
)
"""An error's type, as Python and JavaScript name them; but an assertion's type says nothing about the mistake."""
ASSERTION = re.compile(r"\b[Aa]ssert")

_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line \d+, in (?P<name>\S+)[^\n]*(?:\n {4,}[^\n]*)*', re.MULTILINE)
_FOREIGN = re.compile(r"site-packages|dist-packages|/lib/python\d|<frozen|<string>|/opt/runner/|node_modules|node:")
_JS_FRAME = re.compile(
    r"^\s+at (?:(?:async )?(?P<name>[\w$.<>\[\] ]+) \()?(?P<path>[^\s()]+):\d+:\d+\)?$", re.MULTILINE
)
_PYTEST_FRAME = re.compile(r"^\S+\.py:\d+: in (?P<name>\S+)$")
# As Jest tells it.
_RECEIVED = re.compile(
    r"^[ \t]*Expected: (?P<wanted>[^\n]{1,500})\n[ \t]*Received: (?P<got>[^\n]{1,500})$", re.MULTILINE
)
# What an object is says more about a mistake than which value it has.
_TYPE = re.compile(
    r"""['"](NoneType|bool|int|float|complex|str|bytes|bytearray|list|tuple|dict|set|frozenset|range|generator|coroutine"""
    r"""|function|method|module|type|undefined|null)['"]"""
)
# pytest's margin, rulers and the marks below a line of source.
_DECORATION = re.compile(r"^(?:[E>](?=\s{2,})|[\s^~=*#|-]|_{3,}|_ )+|(?:[\s^~=*#|-]|_{3,}| _)+$")
# What a test runner says of every failure.
_BOILERPLATE = re.compile(
    r"^(?:FAILED|ERROR) \S+\.\w+(?:::\S+)?(?: - )?|^ERROR at (?:setup|teardown) of .*"
    r"|^\S*Error while (?:importing|loading) .*"
)


def signature(error: str) -> str:
    """The signature of an error text or a traceback, of at most `MAX_CHARS` characters."""
    text = error[: 20 * MAX_CHARS].replace("\r\n", "\n")
    frames = [f"in {name}" for name in _own_frames(text) if "<" not in name]
    body = _JS_FRAME.sub("", _FRAME.sub("", text.replace("Traceback (most recent call last):", "")))
    lines = [line for raw in body.split("\n") for line in _plain(raw)]
    if received := _RECEIVED.search(text):
        lines.append(difference(received["got"].strip(), received["wanted"].strip()))
    kept = dict.fromkeys(line for line in (*frames[-MAX_FRAMES:], *lines) if line)
    return "\n".join(kept)[:MAX_CHARS].strip()


def is_frame(line: str) -> bool:
    """Tell whether a line of a signature only names a function."""
    return line.startswith("in ") and line.count(" ") == 1


def _own_frames(text: str) -> list[str]:
    """The names of functions in the order they were called, without those of libraries."""
    python = [m["name"] for m in _FRAME.finditer(text) if not _FOREIGN.search(m["path"])]
    script = [m["name"] or "<module>" for m in _JS_FRAME.finditer(text) if not _FOREIGN.search(m["path"])]
    return python + script[::-1]


def _pytest_frame(found: re.Match[str]) -> str:
    return "" if "<" in found["name"] else f"in {found['name']}"


def _plain(line: str) -> tuple[str, str]:
    """A line without what changes, and in words how the sides that it compares differ."""
    line = _BOILERPLATE.sub("", _PYTEST_FRAME.sub(_pytest_frame, _DECORATION.sub("", line)))
    return " ".join(without_values(_TYPE.sub(r"\1", line)).split()), relation(line)
