"""The signature of an error: what stays the same when the same mistake is made again elsewhere.

Kept are the exception's type, the words of its message and the names of functions in own code. Paths, line numbers,
addresses, quoted values, ids, numbers and times become placeholders, so that two runs, two machines and two values
give one signature.
"""

from __future__ import annotations

import re

MAX_CHARS = 1500
MAX_FRAMES = 6

ERROR_NAME = re.compile(
    r"\b(?!Assertion)(?:[A-Z]\w*)?(?:Error|Exception|Warning|Expired|Interrupt|Exit|Missing|Full|Empty)\b"
    r"|\b[a-z]\w*\.\w*error\b"
)
"""An error's type, as Python and JavaScript name them; but an assertion's type says nothing about the mistake."""
ASSERTION = re.compile(r"\b[Aa]ssert")
PLACEHOLDER = re.compile(r"<(?:value|values|n|path|url|addr|id|time)>")
"""What stands for something that says nothing about the mistake."""

_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line \d+, in (?P<name>\S+)[^\n]*(?:\n {4,}[^\n]*)*', re.MULTILINE)
_FOREIGN = re.compile(r"site-packages|dist-packages|/lib/python\d|<frozen|<string>|/opt/runner/|node_modules|node:")
_JS_FRAME = re.compile(
    r"^\s+at (?:(?:async )?(?P<name>[\w$.<>\[\] ]+) \()?(?P<path>[^\s()]+):\d+:\d+\)?$", re.MULTILINE
)
_PYTEST_FRAME = re.compile(r"^\S+\.py:\d+: in (?P<name>\S+)$")
# What an object is says more about a mistake than which value it has.
_TYPE = re.compile(
    r"""['"](NoneType|bool|int|float|complex|str|bytes|bytearray|list|tuple|dict|set|frozenset|range|generator|coroutine"""
    r"""|function|method|module|type|undefined|null)['"]"""
)
# pytest's margin, rulers and the marks below a line of source.
_DECORATION = re.compile(r"^(?:[E>](?=\s{2,})|[\s^~=_*#|-])+|[\s^~=_*#|-]+$")
# The order matters: what is longest and most special comes first.
_PLACEHOLDERS = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b\d+\.\d{13,}\b"), "<inexact>"),
    (re.compile(r"\b\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|sec|seconds|minutes)\b"), "<time>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<addr>"),
    (re.compile(r"(?<![\w<])(?:[A-Za-z]:\\|~?/|\.{1,2}/)?(?:[\w.@+-]+[/\\])+[\w.@+-]+"), "<path>"),
    (re.compile(r"(?<![\w<])/[\w.@+-]+"), "<path>"),
    (re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|(?<!\w)'(?:[^'\\\n]|\\.)*'|`[^`\n]*`"), "<value>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"\bline \d+\b|(?<=<path>):\d+(?::\d+)?"), ""),
    (re.compile(r"(?<![\w<])[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?\b"), "<n>"),
    (re.compile(r"(?<=[A-Za-z_])\d+\b"), "<n>"),
    (re.compile(r"[\[({]\s*(?:<(?:n|value)>(?:\s*[,:]\s*)?){2,}\s*[\])}]"), "<values>"),
)


def signature(error: str) -> str:
    """The signature of an error text or a traceback, of at most `MAX_CHARS` characters."""
    text = error[: 20 * MAX_CHARS].replace("\r\n", "\n")
    frames = [f"in {name}" for name in _own_frames(text)]
    body = _JS_FRAME.sub("", _FRAME.sub("", text.replace("Traceback (most recent call last):", "")))
    lines = (_plain(line) for line in body.split("\n"))
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


def _plain(line: str) -> str:
    line = _TYPE.sub(r"\1", _PYTEST_FRAME.sub(r"in \g<name>", _DECORATION.sub("", line)))
    for pattern, placeholder in _PLACEHOLDERS:
        line = pattern.sub(placeholder, line)
    return " ".join(line.split())
