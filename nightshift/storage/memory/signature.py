"""The signature of an error: the parts that stay the same when the same mistake is made elsewhere.

The signature keeps the exception's type, the words of its message and the names of the repository's own functions.
Paths, line numbers, addresses, quoted values, ids, numbers and times become placeholders, so that the same mistake has
the same signature in another run, on another machine, and with other values. Parts of values that reveal something
about the mistake are kept: the name of an operating system's error, an error within quotes, the fact that a quoted
value is a bracket, and how the two sides of a comparison differ.

For example, `assert [1, 2] == [1, 2, 3]` and `assert ['a'] == ['a', 'b']` are the same mistake, while `assert 'Ann' ==
'ann'` is another. With placeholders alone, all three look alike. Therefore the two sides are read as literals (never
evaluated), and the signature says that the last items are missing, or that only the letter case differs.
"""

from __future__ import annotations

import ast
import builtins
import errno
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from nightshift.core.code.known_modules import is_known_module

PLACEHOLDER = re.compile(r"<(?:value|values|name|n|path|url|addr|id|time)>")
"""A placeholder for a part of an error that does not matter for the mistake."""

# Matches a quoted text that is itself an error, or the message of an error that is quoted with its arguments.
_NESTED = re.compile(
    r"""(?<=Error\()(?P<one>["'])(?P<told>[^\n]*?)(?P=one)(?=[,)])"""
    r"""|(?P<two>["'])(?P<said>[^"'\n]*\[Errno -?\d+\][^"'\n]*)(?P=two)"""
)


def _os_error(match: re.Match[str]) -> str:
    """Return the name of an operating system's error from its number, as Node writes it.

    The name, such as `ENOENT`, is the same on every machine, while the numbers differ.
    """
    return errno.errorcode.get(int(match[1]), "Errno")


# The order matters: the longest and most specific patterns come first.
_PLACEHOLDERS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r'^File "[^"\n]+", line \d+(?:, in \S+)?'), ""),
    (_NESTED, lambda match: match["told"] or match["said"] or ""),
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
    # These two patterns match names that JavaScript does not quote: the subject of the message, and the text after a
    # second colon.
    (re.compile(r"\b((?:Type|Reference)Error: )[\w$.<>]+(?=\(\) | is (?:not|undefined|null)\b)"), r"\1<name>"),
    (re.compile(r"( [a-z]+: )[A-Za-z_][\w.]*$"), r"\1<name>"),
    (re.compile(r"[\[({]\s*(?:<(?:n|value)>(?:\s*[,:]\s*)?){2,}\s*[\])}]"), "<values>"),
)


def without_values(line: str) -> str:
    """Return the line with placeholders for values."""
    for pattern, placeholder in _PLACEHOLDERS:
        line = pattern.sub(placeholder, line)
    return line


MAX_LINE = 2000
DIFFERS = "differs: "
_SAYS = re.compile(
    r"\bassert (?P<got>.+?) (?:==|is) (?P<wanted>.+)$"
    r"|strictly equal:? (?P<got_js>.+?) !== (?P<wanted_js>.+)$"
    r"|\bexpected (?P<got_chai>.+?) to (?:deeply |strictly |loosely )?(?:equal|be) (?P<wanted_chai>.+)$"
)
_NUMBER = (int, float)
_NAMES = {"null": "None", "undefined": "None", "true": "True", "false": "False"}


def relation(line: str) -> str:
    """Describe how the two sides of a comparison in a line differ, as “differs: …”; empty if that is not known."""
    # Runs of spaces are collapsed. Otherwise the pattern would try each space of a run as the end of a side.
    match = _SAYS.search(" ".join(line.split())) if len(line) <= MAX_LINE else None
    return difference(*(side for side in match.groups() if side is not None)) if match else ""


def difference(got: str, wanted: str) -> str:
    """Describe how two values, which are literals of Python or JavaScript, differ; empty if that is not known.

    Equal differences have equal descriptions in both languages.
    """
    if "nan" in (got.lower(), wanted.lower()):
        return f"{DIFFERS}not a number"
    try:
        left, right = (ast.literal_eval(_NAMES.get(side, side)) for side in (got, wanted))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""
    text = _difference_of(left, right)
    return f"{DIFFERS}{text}" if text else ""


def _difference_of(got: object, wanted: object) -> str:
    if got is None or wanted is None:
        return "nothing instead of a value" if got is None else "a value instead of nothing"
    if isinstance(got, bool) or isinstance(wanted, bool):
        return "true and false" if isinstance(got, bool) and isinstance(wanted, bool) else _types(got, wanted)
    if isinstance(got, _NUMBER) and isinstance(wanted, _NUMBER):
        return _numbers(got, wanted)
    if type(got) is not type(wanted):
        return _types(got, wanted)
    if isinstance(got, str) and isinstance(wanted, str):
        return _texts(got, wanted)
    if isinstance(got, list | tuple) and isinstance(wanted, list | tuple):
        return _sequences(got, wanted)
    if isinstance(got, dict | set) and isinstance(wanted, dict | set):
        return _keys(set(got), set(wanted))
    return ""


def _types(got: object, wanted: object) -> str:
    return f"{type(got).__name__} instead of {type(wanted).__name__}"


def _numbers(got: float, wanted: float) -> str:
    if math.isclose(got, wanted, rel_tol=1e-9):
        # Two different texts of a float can be read as equal floats, if they have more digits than a float can hold.
        return "almost equal floats, inexact"
    if got == -wanted:
        return "opposite sign"
    if abs(got - wanted) == 1:
        return "one too many" if got > wanted else "one too few"
    if abs(got - wanted) < 1:
        return "fraction cut or rounded"
    return "" if got else "zero instead of a number"


def _texts(got: str, wanted: str) -> str:
    if not got:
        return "empty text"
    if got.casefold() == wanted.casefold():
        return "letter case of text"
    if "".join(got.split()) == "".join(wanted.split()):
        return "white space in text"
    if got == wanted[::-1]:
        return "reversed text"
    return _lengths(got, wanted, "text") if got in wanted or wanted in got else ""


def _sequences(got: Sequence[object], wanted: Sequence[object]) -> str:
    if not got:
        return "empty instead of items"
    if got == wanted[::-1]:
        return "reversed order of items"
    # Items are compared by `repr`, because they may be neither hashable nor comparable.
    mine, theirs = Counter(map(repr, got)), Counter(map(repr, wanted))
    if mine == theirs:
        return "other order of items"
    if mine.keys() == theirs.keys():
        return "repeated items" if mine > theirs else "items that repeat are missing"
    return _lengths(got, wanted, "items") if mine < theirs or mine > theirs else ""


def _lengths(got: Sequence[object], wanted: Sequence[object], what: str) -> str:
    if len(got) < len(wanted):
        return f"last {what} missing" if wanted[: len(got)] == got else f"{what} missing"
    return f"more {what} at the end than expected" if got[: len(wanted)] == wanted else f"more {what} than expected"


def _keys(got: set[object], wanted: set[object]) -> str:
    if got == wanted:
        return "other value of a key"
    return "items missing" if got < wanted else "more items than expected" if got > wanted else ""


MAX_CHARS = 1500
MAX_FRAMES = 6

ERROR_NAME = re.compile(
    r"\b(?!Assertion)(?:[A-Z]\w*)?(?:Error|Exception|Warning|Expired|Interrupt|Exit|Missing|Full|Empty)\b"
    r"|\b[a-z]\w*\.\w*error\b|\bStopIteration\b"
    r"|(?:(?<=\.)|^)(?!Assertion)[A-Z][a-z]+(?:[A-Z][a-z]+)+(?=: )",
    re.MULTILINE,
)
"""Matches the name of an error's type in Python or JavaScript. Assertions are excluded, because their type says nothing
specific.
"""
ASSERTION = re.compile(r"\b[Aa]ssert")

_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line \d+, in (?P<name>\S+)[^\n]*(?:\n {4,}[^\n]*)*', re.MULTILINE)
_FOREIGN = re.compile(r"site-packages|dist-packages|/lib/python\d|<frozen|<string>|/opt/runner/|node_modules|node:")
_JS_FRAME = re.compile(
    r"^\s+at (?:(?:async )?(?P<name>[\w$.<>\[\] ]+) \()?(?P<path>[^\s()]+):\d+:\d+\)?$", re.MULTILINE
)
_PYTEST_FRAME = re.compile(r"^\S+\.py:\d+: in (?P<name>\S+)$")
# Jest's format.
_RECEIVED = re.compile(
    r"^[ \t]*Expected: (?P<wanted>[^\n]{1,500})\n[ \t]*Received: (?P<got>[^\n]{1,500})$", re.MULTILINE
)
# Matches the representation of an object's type. The type matters more for a mistake than the value.
_TYPE = re.compile(
    r"""['"](NoneType|bool|int|float|complex|str|bytes|bytearray|list|tuple|dict|set|frozenset|range|generator|coroutine"""
    r"""|function|method|module|type|undefined|null)['"]"""
)
# Matches what pytest adds to lines: its margin, rulers, and the marks below a source line.
_DECORATION = re.compile(r"^(?:[E>](?=\s{2,})|[\s^~=*#|-]|_{3,}|_ )+|(?:[\s^~=*#|-]|_{3,}| _)+$")
# Text that a test runner adds to every failure.
_BOILERPLATE = re.compile(
    r"^(?:FAILED|ERROR) \S+\.\w+(?:::\S+)?(?: - )?|^ERROR at (?:setup|teardown) of .*"
    r"|^\S*Error while (?:importing|loading) .*"
)


def signature(error: str) -> str:
    """Return the signature of an error text or a traceback, at most `MAX_CHARS` characters long."""
    text = error[: 20 * MAX_CHARS].replace("\r\n", "\n")
    frames = [f"in {name}" for name in _own_frames(text) if "<" not in name]
    body = _JS_FRAME.sub("", _FRAME.sub("", text.replace("Traceback (most recent call last):", "")))
    lines = [line for raw in body.split("\n") for line in _normalise(raw)]
    if received := _RECEIVED.search(text):
        lines.append(difference(received["got"].strip(), received["wanted"].strip()))
    unique_lines = dict.fromkeys(line for line in (*frames[-MAX_FRAMES:], *lines) if line)
    return "\n".join(unique_lines)[:MAX_CHARS].strip()


def is_error(text: str) -> bool:
    """Check whether a text, such as a task's description, names an error or an assertion."""
    return ERROR_NAME.search(text) is not None or ASSERTION.search(text) is not None


def is_frame(line: str) -> bool:
    """Check whether a line of a signature contains only the name of a function."""
    return line.startswith("in ") and line.count(" ") == 1


def _own_frames(text: str) -> list[str]:
    """Return the names of the functions in a traceback, in the order of the calls and without those of libraries."""
    python = [m["name"] for m in _FRAME.finditer(text) if not _FOREIGN.search(m["path"])]
    script = [m["name"] or "<module>" for m in _JS_FRAME.finditer(text) if not _FOREIGN.search(m["path"])]
    return python + script[::-1]


def _pytest_frame(match: re.Match[str]) -> str:
    return "" if "<" in match["name"] else f"in {match['name']}"


def _normalise(line: str) -> tuple[str, str]:
    """Return a line without its variable parts, and a description of how the sides of a comparison in it differ."""
    line = _BOILERPLATE.sub("", _PYTEST_FRAME.sub(_pytest_frame, _DECORATION.sub("", line)))
    return " ".join(without_values(_TYPE.sub(r"\1", line)).split()), relation(line)


_OF_LANGUAGES = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
) - {"AssertionError", "Exception", "BaseException"} | {"ReferenceError", "RangeError", "URIError", "EvalError"}
_RAISED = re.compile(r"^(?:[A-Za-z]+Error: )?(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<name>[A-Za-z_]\w*)(?=:|$)")


def is_general(error: str) -> bool:
    """Check whether an error is about the language or a library, by the type that its first line names.

    An assertion is not general, because it is about what one test expects. A type that belongs neither to the language
    nor to the module of a known library is one of the repository's own.
    """
    match = _RAISED.match(error.split("\n", 1)[0].removeprefix("CollectionError: "))
    if match is None:
        return False
    top = match["path"].partition(".")[0]
    return match["name"] in _OF_LANGUAGES if not top else top in sys.stdlib_module_names or is_known_module(top)
