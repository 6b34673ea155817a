"""What of a line changes from run to run, and what stands in its place.

Paths, addresses, quoted values, ids, numbers, times and names become placeholders. What a value says about the mistake
is kept: which error of the operating system it was, an error told within quotes, which kind of bracket.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable

PLACEHOLDER = re.compile(r"<(?:value|values|name|n|path|url|addr|id|time)>")
"""What stands for something that says nothing about the mistake."""

# A quoted text that is an error itself, or the message of one that is named with its arguments.
_NESTED = re.compile(
    r"""(?<=Error\()(?P<one>["'])(?P<told>[^\n]*?)(?P=one)(?=[,)])"""
    r"""|(?P<two>["'])(?P<said>[^"'\n]*\[Errno -?\d+\][^"'\n]*)(?P=two)"""
)


def _os_error(found: re.Match[str]) -> str:
    """As Node tells it: `ENOENT` on every machine, where numbers differ."""
    return errno.errorcode.get(int(found[1]), "Errno")


# The order matters: what is longest and most special comes first.
_PLACEHOLDERS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r'^File "[^"\n]+", line \d+(?:, in \S+)?'), ""),
    (_NESTED, lambda found: found["told"] or found["said"] or ""),
    (re.compile(r"\[Errno (\d+)\]"), _os_error),
    (re.compile(r"""(["'])[()\[\]{}]\1"""), "parenthesis"),
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
    # Names that an interpreter does not quote: what something is said about, and what stands behind a second colon.
    (re.compile(r"\b((?:Type|Reference)Error: )[\w$.<>]+(?=\(\) | is (?:not|undefined|null)\b)"), r"\1<name>"),
    (re.compile(r"( [a-z]+: )[A-Za-z_][\w.]*$"), r"\1<name>"),
    (re.compile(r"[\[({]\s*(?:<(?:n|value)>(?:\s*[,:]\s*)?){2,}\s*[\])}]"), "<values>"),
)


def without_values(line: str) -> str:
    """The line with placeholders."""
    for pattern, placeholder in _PLACEHOLDERS:
        line = pattern.sub(placeholder, line)
    return line
