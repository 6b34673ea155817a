"""Reads examples from a task's text: calls with literal arguments, each with its required result.

    >>> total([1, 2])          total([1, 2]) == 3          `total([1, 2])` returns `3`
    3                          total([1, 2]) -> 3          total([1, 2]) => 3

The text is data and never run here. A call counts only if it names a function by plain names, and if its arguments and
its result are literals (`core.code.literals`). A right change must not be refused, so anything that may not be a
requirement is skipped: a condition ("if f(1) == 2"), a denial, a part of an expression, a signature, a result that
continues ("3 items"), and code that depends on the effect of earlier code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nightshift.core.code import literals
from nightshift.core.code.parsing import parse_quietly

MOST = 40
"""Maximum number of examples per task."""
MOST_CHARS = 30_000
_CANDIDATES, _LONGEST = 600, 2000
"""Maximum number of candidate calls, and of characters of a call or a result. Both bound the time for a hostile text.
"""
_SHOWN = 200

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_CALL = re.compile(rf"(?<![\w.]){_NAME}(?:\.{_NAME}){{0,4}}\(")
_SAYS = re.compile(
    r"`{0,2}[ \t]{0,9}(?:#[ \t]{0,9})?"
    r"(?P<sign>==>|==|->|=>|→|➞|(?:(?:should|must|shall|will|has to)[ \t]{1,9}return|returns)\b)[ \t]{0,9}`{0,2}"
)
_STRING = re.compile(r"[bBrRuU]?(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")")
_ATOM = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)|True\b|False\b|None\b")
_MADE = re.compile(r"(?:set|frozenset|float)(?=\()")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

_PROMPT = re.compile(r"[ \t>#*|]*>>>[ \t]?")
_BULLET = re.compile(r"[ \t]*(?:(?:[-*•>]|\d+[.)]|#+|assert)[ \t]+)*[`(\"]?")
_FENCE = re.compile(r"^[ \t>]*(?:```+|~~~+)[ \t]*([\w+-]*)", re.MULTILINE)
_PYTHON = frozenset({"", "python", "py", "python3", "pycon", "doctest", "text", "txt", "plaintext"})
_DENIAL = re.compile(
    r"\b(?:not|never|cannot|\w+n['’]t|wrong\w*|incorrect\w*|mistak\w+|invalid|bad|bugs?|buggy|broken|actual\w*|got"
    r"|current\w*|previous\w*|today|before|formerly|instead|rather|unlike|except|fail\w*|crash\w*|rais\w+|errors?"
    r"|reproduc\w+)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|elif|unless|until|when\w*|while|whether|suppose|assum\w+|after|once|either)\b", re.IGNORECASE
)
"""Words before a call that make it a condition, not a claim. Other calls are removed from the text before the search.
"""
_CODE = frozenset(
    ["or", "in", "is", "return", "yield", "await", "lambda", "def", "class", "raise", "else", "del", "print"]
)
"""Words directly before a call that make it a part of another statement."""
_NEAR, _SENTENCE_CHARS = 4, 300
"""Number of words before a colon that may deny the example, and number of characters of a sentence that are searched.
"""
_DENIED = re.compile(
    r"\b(?:not(?!\s+`?[-+\d'\"\[({])|never|cannot|\w+n['’]t|wrong\w*|incorrect\w*|mistak\w+|bugs?|broken"
    r"|(?:should|must)(?! hold)|expected|only|unless|if|when|fail\w*)\b",
    re.IGNORECASE,
)
"""Words after a result that is not the wanted one, or not always."""
_PROSE = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,}[ ,]{1,3}[A-Za-z]{2,}|^[A-Za-z ]+:$|^(?:#+ ?|\*\*)\w")
_SENTENCE = re.compile(r"[.!?;][`)\"']*\s|\n[ \t]*\n|\n[ \t]*(?:[-*•]|\d+[.)])[ \t]")
_ON = r"(?!\s*`?[-+\d'\"\[({])"
"""Lookahead: no second value follows a comma or an `and`."""
_END = re.compile(
    rf"(?P<closed>[`)\"*_]{{0,4}})(?:[ \t]*(?:\Z|\n(?![ \t]*[a-z]+(?:[ \t\n,.]|\Z)))|[,.;:!?](?=\s|\Z){_ON}"
    rf"|[ \t]*(?:#|//|—|–)|[ \t]+\((?!\s*[-+\d'\"\[{{])|\s+(?:and|but|because|since)\b{_ON}"
    rf"|\s+(?:instead of|rather than|holds?|(?:must|should) hold)\b)"
)
_CLAUSE = re.compile(r"(?:[^.;!?\n,]|,(?! and\b)|\n(?=[ \t]*[a-z]))*")
_DISTURBS = re.compile(
    r"(?:for\b.+ in |with |while |async |await |del |global ).*:?$|@|[\w.\[\]'\" ,]+=(?!=).*\("
    r"|\w+[.\[][\w.\[\]'\"]* ?=(?!=)"
)
"""Code that may change the result of later calls: blocks, assignments of a call's result, and assignments to parts of
an object.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call and its required result.

    `text` is the example for people, on one line. `name` is the name of the function, with dots if the text has some.
    `args`, `kwargs` and `expect` are literals as in `core.tasks.held_out.ValueCase`. `rounded` is the tolerance for a
    number that is written with two or more decimals, like 3.14; None for any other result.
    """

    text: str
    name: str
    args: str
    kwargs: str
    expect: str
    rounded: float | None = None


def read_examples(words: str) -> tuple[Example, ...]:
    """Return the distinct examples of a task's text in order, at most `MOST`."""
    return tuple(dict.fromkeys(_Words(words[:MOST_CHARS]).read_examples()))[:MOST]


class _Words:
    """The text of a task, with its code blocks and the lines of code that other code may depend on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = list(_find_fences(text))
        self._disturbing = [at for at, line in _split_lines(text) if self._disturbs(at, line)]

    def read_examples(self) -> Iterator[Example]:
        at = 0
        for _, match in zip(range(_CANDIDATES), _CALL.finditer(self._text), strict=False):
            if match.start() < at:
                continue
            end = _find_closing(self._text, match.end() - 1)
            call = _read_call(self._text[match.start() : end]) if end else None
            if call is None or not end:
                continue
            start = self._text.rfind("\n", 0, match.start()) + 1
            lead = self._text[start : match.start()]
            prompted = _PROMPT.fullmatch(lead) is not None
            result = self._read_result(end) or (self._read_output(end) if prompted else None)
            if result is None or "\\\\" in self._text[match.start() : result[1]]:
                continue
            expect, stop, sign = result
            if _is_signature(call, expect, sign):
                continue
            if self._is_claim(match.start(), start, lead, stop, prompted=prompted):
                at = stop
                name, args, kwargs = call
                text = " ".join(self._text[match.start() : end].split())
                shown = f"{text} == {expect}"
                yield Example(
                    text=_shorten(shown), name=name, args=args, kwargs=kwargs, expect=expect, rounded=_rounding(expect)
                )

    def _read_result(self, end: int) -> tuple[str, int, str] | None:
        """Return the result after a call, the position where it ends, and the sign between them."""
        says = _SAYS.match(self._text, end)
        stop = _find_literal_end(self._text, says.end()) if says else None
        if says is None or stop is None or not _END.match(self._text, stop):
            return None
        expect = _read_literal(self._text[says.end() : stop])
        return None if expect is None else (expect, stop, says["sign"])

    def _read_output(self, end: int) -> tuple[str, int, str] | None:
        """Return the result in the lines below a call at a prompt."""
        line = self._text.find("\n", end)
        rest = self._text[end : line if line >= 0 else len(self._text)].strip()
        if line < 0 or (rest and not (rest.startswith("#") and "doctest:" not in rest)):
            return None
        wanted, stop = list[str](), line
        for at, text in _split_lines(self._text[line + 1 : line + 1 + _LONGEST]):
            bare = text.strip().lstrip(">#| \t")
            if not bare or text.lstrip(" \t#|").startswith(">>>") or bare.startswith(("```", "~~~", '"""', "'''")):
                break
            wanted.append(bare)
            stop = line + 1 + at + len(text)
        expect = _read_literal("\n".join(wanted))
        return None if expect is None else (expect, stop, "")

    def _is_claim(self, call: int, start: int, lead: str, stop: int, *, prompted: bool) -> bool:
        """Check whether a call's result is plainly claimed, and does not depend on earlier code."""
        fence = next(((a, b, info) for a, b, info in self._fences if a <= call < b), None)
        if fence and fence[2] not in _PYTHON:
            return False
        if (fence or prompted) and any((fence[0] if fence else 0) <= at < call for at in self._disturbing):
            return False
        if _DENIAL.search(_keep_last_words(self._find_intro(start))):
            return False
        if prompted:
            return True
        if lead[:1] in {" ", "\t", "-", "+"} and lead.rstrip().endswith("assert"):  # Inside a function or a patch.
            return False
        if not _BULLET.fullmatch(lead):
            if not _may_begin_after(lead):
                return False
            sentence = _drop_calls(_SENTENCE.split(self._text[max(0, call - _SENTENCE_CHARS) : call])[-1])
            opening, _, claim = sentence.rpartition(":")
            if _DENIAL.search(claim) or _CONDITION.search(claim) or _DENIAL.search(_keep_last_words(opening)):
                return False
        clause = _CLAUSE.match(self._text[stop : stop + _SENTENCE_CHARS])
        return not (clause and _DENIED.search(_drop_calls(clause[0])))

    def _find_intro(self, start: int) -> str:
        """Return the line of prose that introduces an example; empty if there is none."""
        for number, line in enumerate(reversed(self._text[max(0, start - 2000) : start].splitlines())):
            bare = line.strip()
            if line.lstrip().startswith('File "'):  # A line of a traceback.
                return "error"
            if not _PROSE.search(bare) or _SAYS.search(bare):
                continue
            unfinished = number == 0 and bare[-1] not in ".!?)`'\""
            return bare if bare.endswith(":") or unfinished or bare.startswith(("#", "**")) else ""
        return ""

    def _disturbs(self, at: int, line: str) -> bool:
        """Check whether a line is code that may change the result of a later call."""
        prompt = _PROMPT.match(line)
        if not prompt and not any(a <= at < b for a, b, _ in self._fences):
            return False
        code = line[prompt.end() :].strip() if prompt else line.strip()
        call = _CALL.match(code)
        if not call or _find_closing(code, call.end() - 1) != len(code) or code.startswith("print("):
            return _DISTURBS.match(code) is not None
        return not prompt or re.match(r"[ \t]*(?:>>>|\n|\Z|```)", self._text[at + len(line) + 1 :]) is not None


def _split_lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _find_fences(text: str) -> Iterator[tuple[int, int, str]]:
    """List the start, end and language of each fenced block."""
    marks = list(_FENCE.finditer(text))
    for opening, closing in zip(marks[::2], [*marks[1::2], None], strict=False):
        yield opening.end(), closing.start() if closing else len(text), opening[1].lower()


def _find_closing(text: str, at: int) -> int | None:
    """Return the position after the bracket that closes the one at a position."""
    left, stop = list[str](), min(len(text), at + _LONGEST)
    while at < stop:
        char = text[at]
        if char in "'\"":
            string = _STRING.match(text, at)
            if string is None:
                return None
            at = string.end()
            continue
        if char in _BRACKETS:
            left.append(_BRACKETS[char])
        elif char in ")]}" and (not left or left.pop() != char):
            return None
        at += 1
        if not left:
            return at
    return None


def _find_literal_end(text: str, at: int) -> int | None:
    """Return the position after the literal that begins at a position."""
    if match := _STRING.match(text, at) or _ATOM.match(text, at):
        return match.end()
    constructor = _MADE.match(text, at)
    at = constructor.end() if constructor else at
    return _find_closing(text, at) if text[at : at + 1] in _BRACKETS else None


def _read_literal(text: str) -> str | None:
    """Return a text as a literal in the form of `core.code.literals`; None if it is not a literal."""
    node = _read_expression(text)
    try:
        value = literals.value_of(node) if node is not None else ...
        if text.lstrip().startswith("(") and not isinstance(value, tuple):  # `("a")` may be meant as a tuple
            return None
        return literals.write(value)
    except ValueError:
        return None


def _read_call(text: str) -> tuple[str, str, str] | None:
    """Return name, positional and keyword arguments of a call with literal arguments; None for any other text."""
    node = _read_expression(text)
    if not isinstance(node, ast.Call):
        return None
    names = {keyword.arg for keyword in node.keywords}
    if None in names or len(names) < len(node.keywords):
        return None
    try:
        args = literals.write(tuple(map(literals.value_of, node.args)))
        kwargs = literals.write({keyword.arg: literals.value_of(keyword.value) for keyword in node.keywords})
    except ValueError:
        return None
    return text.partition("(")[0], args, kwargs


def _read_expression(text: str) -> ast.expr | None:
    tree = parse_quietly(text.strip()) if len(text) <= _LONGEST else None
    match tree.body if tree else []:
        case [ast.Expr(value=value)]:
            return value
    return None


def _is_signature(call: tuple[str, str, str], expect: str, sign: str) -> bool:
    """Check whether an example may be the head of a function: `main() -> None`, `run(tries=3) -> "Result"`."""
    return sign in {"->", "→", "=>", "==>", "➞"} and call[1] == "()" and (expect == "None" or expect[:1] in "'\"")


def _rounding(expect: str) -> float | None:
    """Return half a unit of the last decimal of the numbers in a result; None without at least two decimals."""
    places = [len(digits) for digits in re.findall(r"\d\.(\d{2,})(?![\de])", expect)]
    return 0.5 * 10.0 ** -min(places) if places and expect[0] not in "'\"b" else None


def _may_begin_after(lead: str) -> bool:
    """Check whether a call may begin a claim after this part of its line, as it is no part of an expression."""
    last, before = lead[-1:], lead[-2:-1]
    if last in '`"':
        lead = lead[:-1]
    elif last == "(":
        return not (before.isalnum() or before == "_")
    elif not last.isspace():
        return False
    bare = lead.rstrip()
    if not bare or bare[-1] in ":;,.(—–|":
        return True
    return bare[-1].isalpha() and re.split(r"\W+", bare)[-1] not in _CODE


def _keep_last_words(text: str) -> str:
    return " ".join(_drop_calls(text[-_SENTENCE_CHARS:]).split()[-_NEAR:])


def _drop_calls(text: str) -> str:
    """Return a text without the parts in backticks and without calls."""
    return re.sub(r"`[^`\n]*`|[\w.]+\([^()\n]*\)", " ", text)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
