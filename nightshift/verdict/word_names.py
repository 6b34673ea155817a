"""Finds the functions, classes and files that must exist when a task is done, according to the task's text.

    Write `add(a, b)`.   Implement a class `Stack`.   Create the file `shop/cart.py` with `total(prices)`.

Only direct requests count, which are sentences that begin with the verb add, write, create or implement. In the middle
of a sentence, these verbs describe what a program does when it runs, so they are ignored there.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nightshift.core.code.paths import is_test_path

MOST = 20
MOST_CHARS = 30_000

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TICKS = r"`(?P<quoted>[^`\n]{1,200})`"
_WORDS = r"(?P<between>(?:[A-Za-z-]{1,30}\s{1,9}){0,6})"
_ITEM = r"(?:[-*•]|\d{1,3}[.)]|#{1,4})[ \t]{1,9}"
_ASKS = re.compile(
    rf"(?:\A|[.!?;][)\"']?\s|\n[ \t]{{0,9}}\n|\n(?=[ \t]{{0,9}}{_ITEM}))\s{{0,9}}(?:{_ITEM})?"
    r"(?:(?:please|now|then|also|first|next|finally|and)[,\s]{1,9}){0,4}"
    rf"(?P<verb>add|write|create|implement)\s{{1,9}}{_WORDS}(?:{_TICKS}|(?P<bare>{_NAME}\([^()\n]{{0,100}}\)))",
    re.IGNORECASE,
)
_NEXT = re.compile(rf"\s{{0,9}}(?:,\s{{0,9}}and\b|,|and\b|&)\s{{0,9}}{_WORDS}{_TICKS}")
_IN_FILE = re.compile(
    rf"\s{{1,9}}(?:in|inside|into|to)\s{{1,9}}(?:(?:an?|the|new|python)\s{{1,9}}){{0,4}}"
    rf"(?:(?:file|module|script)\s{{1,9}})?{_TICKS}",
    re.IGNORECASE,
)
_WITH = re.compile(
    r"(?:,?\s{1,9}(?:with|containing|defining)|\s{1,9}that (?:has|defines|contains|exports|provides))\s{1,9}"
    rf"{_WORDS}{_TICKS}",
    re.IGNORECASE,
)
_CODE_NOUNS = frozenset(
    ["function", "functions", "class", "classes", "method", "methods", "dataclass", "dataclasses", "helper", "helpers",
     "exception", "enum", "decorator", "generator", "coroutine"]
)  # fmt: skip
_FILE_NOUNS = frozenset(["file", "files", "module", "modules", "script", "scripts", "page"])
_PLAIN = frozenset(
    ["a", "an", "the", "new", "another", "second", "python", "small", "simple", "pure", "public", "private", "own",
     "called", "named", "empty", "short", "two", "three", "missing", "following"]
)  # fmt: skip
_OTHER = frozenset(
    ["to", "for", "of", "in", "on", "with", "from", "that", "which", "by", "about", "into", "using", "and", "or", "as",
     "not", "if", "when", "test", "tests", "unit", "docs", "documentation", "docstring", "docstrings", "support",
     "calls", "call", "handling", "logging", "comment", "comments", "around", "after", "before", "no"]
)  # fmt: skip
_PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")
_SOURCE = re.compile(r"\.(?:pyi?|[cm]?[jt]sx?|go|rs|md|rst|toml|ya?ml|html?|css|sql|sh|cfg|ini)$")
_ANY = re.compile(r"\.[a-z]{2,5}$")
_SIGNATURE = re.compile(
    rf"(?:(?:async\s+)?def\s+)?(?P<name>{_NAME}(?:\.{_NAME})*)\s*\(.*\)\s*(?:->.*)?:?|class\s+(?P<of>{_NAME}).*"
)
_BARE = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_STOP = re.compile(r"\s{0,9}(?:\Z|[.,;:!?)\n]|\s(?:in|that|which|so|as|returning|taking|using|with|for)\b)")
_NO_NAMES = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | {"null", "undefined", "nil", "true", "false", "self"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedNames:
    """The names that a task's text asks for.

    Tests are excluded, because the agent's own tests may have other names.

    Attributes:
        defined: functions and classes that must be defined when the task is done.
        mentioned: names of an unknown kind, which must occur somewhere when the task is done.
        files: paths of files that must exist when the task is done.
    """

    defined: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def read_names(words: str, called: Collection[str] = ()) -> AskedNames:
    """Find the names that a task's text asks for.

    Args:
        words: the task's text.
        called: the functions that examples in the text call. The name of such a function counts even without backticks.
    """
    reader = _Reader(words[:MOST_CHARS], called)
    reader.read()
    return AskedNames(
        defined=tuple(dict.fromkeys(reader.defined))[:MOST],
        mentioned=tuple(dict.fromkeys(each for each in reader.mentioned if each not in reader.defined))[:MOST],
        files=tuple(dict.fromkeys(reader.files))[:MOST],
    )


class _Reader:
    def __init__(self, text: str, called: Collection[str]) -> None:
        self._text, self._called = text, called
        self.defined, self.mentioned, self.files = list[str](), list[str](), list[str]()

    def read(self) -> None:
        for match in _ASKS.finditer(self._text):
            if not self._is_listed_behaviour(match.start()):
                self._read_sentence(match)

    def _read_sentence(self, match: re.Match[str]) -> None:
        kind = _read_kind(match["between"])
        if kind is None:
            return
        if match["bare"]:
            name = match["bare"].partition("(")[0]
            self.defined += [name] if name in self._called else []
            return
        first, end = match.start() == 0, match.end()
        took = self._read_name(match["quoted"], kind, end, verb=match["verb"].lower(), first=first)
        while (
            took and (more := _NEXT.match(self._text, end)) and (next_kind := _read_kind(more["between"])) is not None
        ):
            end = more.end()
            took = self._read_name(more["quoted"], next_kind or kind, end, first=first)
        if took == "file" and (more := _WITH.match(self._text, end)):
            next_kind = _read_kind(more["between"])
            took = self._read_name(more["quoted"], next_kind, more.end()) if next_kind is not None else ""
        elif took == "code" and (more := _IN_FILE.match(self._text, end)):
            self._read_name(more["quoted"], "file", more.end())

    def _read_name(self, quoted: str, kind: str, end: int, *, verb: str = "add", first: bool = False) -> str:
        """Record a quoted name or path, and return "code" or "file"; empty if the text may be something else.

        Args:
            quoted: the text in backticks.
            kind: code or file if the words before the text name its kind; otherwise empty.
            end: the position after the text.
            verb: the verb of the sentence.
            first: true if the sentence is the beginning of the task's text.
        """
        text = quoted.strip()
        if kind != "code" and self._is_file(text.lower(), kind, first=first):
            listed = verb == "add" and re.match(r"\s{1,9}to\b", self._text[end : end + 20])  # As in: to `.gitignore`.
            self.files += [] if listed or is_test_path(text) else [text]
            return "file"
        if kind == "file":
            return ""
        signature = _SIGNATURE.fullmatch(text)
        name = (signature["name"] or signature["of"]) if signature else text if _BARE.fullmatch(text) else ""
        last = name.rpartition(".")[2]
        if not last or last in _NO_NAMES or last.casefold().startswith("test"):
            return ""
        if signature or kind == "code" or name in self._called:
            self.defined.append(last)
            return "code"
        if verb != "add" and _STOP.match(self._text, end):
            self.mentioned.append(last)
            return "code"
        return ""

    @staticmethod
    def _is_file(text: str, kind: str, *, first: bool) -> bool:
        """Check whether a text is the path of a file that the task asks for.

        Other paths may belong to files that the program writes when it runs.
        """
        ending = _ANY if kind == "file" and first else _SOURCE
        return bool(ending.search(text) and _PATH.fullmatch(text)) and ".." not in text

    def _is_listed_behaviour(self, start: int) -> bool:
        """Check whether a sentence is an item of a list below a colon. Such items may describe what a program does."""
        if not re.match(rf"\s{{1,20}}{_ITEM}", self._text[start : start + 80]):
            return False
        above = (line.strip() for line in reversed(self._text[max(0, start - 2000) : start + 1].splitlines()))
        return next((line.endswith(":") for line in above if line and not re.match(r"[-*•]|\d+[.)]", line)), False)


def _read_kind(between: str) -> str | None:
    """Return the kind of a name that the words before the name state.

    Returns:
        "code" or "file"; empty if the words state no kind; None if the words show that something else is requested.
    """
    words = between.lower().split()
    while words and words[-1] in {"called", "named"}:
        words.pop()
    if not set(words).isdisjoint(_OTHER):
        return None
    if words and words[-1] in _CODE_NOUNS:
        return "code"
    if words and words[-1] in _FILE_NOUNS:
        return "file"
    return "" if set(words) <= _PLAIN else None


def find_paths(words: str) -> Iterator[str]:
    """List the distinct paths of Python files in a task's text."""
    yield from dict.fromkeys(re.findall(r"(?<![\w./-])(?:[\w-]+/)*[\w-]+\.py\b", words[:MOST_CHARS]))
