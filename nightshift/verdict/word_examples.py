"""Reads examples from a task's text: calls with literal arguments, each with the result that the call must give.

    >>> total([1, 2])          total([1, 2]) == 3          `total([1, 2])` returns `3`
    3                          total([1, 2]) -> 3          total([1, 2]) => 3

The text is only parsed, never run here. A call counts only if it names a function by plain names, and if its arguments
and its result are literals (`core.code.literals`). A right change must not be refused, so everything that is possibly
no requirement is skipped: a condition ("if f(1) == 2"), a denial, a part of a larger expression, a signature, a result
that continues ("3 items"), and code whose result depends on the effect of earlier code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nightshift.core.code import literals
from nightshift.core.code.parsing import parse_quietly

MOST = 40
"""Maximum number of examples that are read from a task's text."""
MOST_CHARS = 30_000
_CANDIDATES, _LONGEST = 600, 2000
"""Maximum number of candidate calls, and maximum characters of a call or result.

Both limit the time that a hostile text can take.
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
"""Words that turn an example into a condition if they come before its call in the same sentence.

Earlier calls in the sentence are removed before the search, because a function may be named like one of these words.
"""
_CODE = frozenset(
    ["or", "in", "is", "return", "yield", "await", "lambda", "def", "class", "raise", "else", "del", "print"]
)
"""Words that, directly before a call, show that the call is part of another statement."""
_NEAR, _SENTENCE_CHARS = 4, 300
"""Number of words before a colon that are searched for a denial, and maximum characters of a searched sentence."""
_DENIED = re.compile(
    r"\b(?:not(?!\s+`?[-+\d'\"\[({])|never|cannot|\w+n['’]t|wrong\w*|incorrect\w*|mistak\w+|bugs?|broken"
    r"|(?:should|must)(?! hold)|expected|only|unless|if|when|fail\w*)\b",
    re.IGNORECASE,
)
"""Words after a result which show that the result is wrong, or does not always apply."""
_PROSE = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,}[ ,]{1,3}[A-Za-z]{2,}|^[A-Za-z ]+:$|^(?:#+ ?|\*\*)\w")
_SENTENCE = re.compile(r"[.!?;][`)\"']*\s|\n[ \t]*\n|\n[ \t]*(?:[-*•]|\d+[.)])[ \t]")
_ON = r"(?!\s*`?[-+\d'\"\[({])"
"""Lookahead after a comma or a conjunction: the text does not continue with a second value."""
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
"""Code that may change the result of later calls.

These are blocks, decorators, assignments of a call's result, and assignments to parts of an object.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call and the result that it must give.

    Attributes:
        text: the example on one line, for people.
        name: the name of the function, with its dotted prefix if the text has one.
        args: the positional arguments, as a literal in the form of `core.tasks.held_out.ValueCase`.
        kwargs: the keyword arguments, as a literal in the same form.
        expect: the result, as a literal in the same form.
        rounded: the tolerance for a number that is written with two or more decimals, like 3.14; None for any other
            result.
    """

    text: str
    name: str
    args: str
    kwargs: str
    expect: str
    rounded: float | None = None


def read_examples(words: str) -> tuple[Example, ...]:
    """Return the distinct examples of a task's text in order, at most `MOST` of them."""
    return tuple(dict.fromkeys(_Words(words[:MOST_CHARS]).read_examples()))[:MOST]


class _Words:
    """The text of a task, with the positions of its code blocks and of the lines that may change later results."""

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
        """Read the result that is written on the line of a call.

        Returns:
            The result, the position after it, and the sign between call and result; None if there is no such result.
        """
        says = _SAYS.match(self._text, end)
        stop = _find_literal_end(self._text, says.end()) if says else None
        if says is None or stop is None or not _END.match(self._text, stop):
            return None
        expect = _read_literal(self._text[says.end() : stop])
        return None if expect is None else (expect, stop, says["sign"])

    def _read_output(self, end: int) -> tuple[str, int, str] | None:
        """Read the result on the lines below a call that follows a `>>>` prompt.

        Returns:
            The result, the position after it, and an empty string; None if there is no such result.
        """
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
        """Check whether the text claims the result of a call without reservation.

        A result that earlier code in the text may change does not count.

        Args:
            call: the position of the call.
            start: the position of the line with the call.
            lead: the part of that line before the call.
            stop: the position after the result.
            prompted: true if the call follows a `>>>` prompt.
        """
        fence = next(((a, b, info) for a, b, info in self._fences if a <= call < b), None)
        if fence and fence[2] not in _PYTHON:
            return False
        if (fence or prompted) and any((fence[0] if fence else 0) <= at < call for at in self._disturbing):
            return False
        if _DENIAL.search(_keep_last_words(self._find_intro(start))):
            return False
        if prompted:
            return True
        if lead[:1] in {" ", "\t", "-", "+"} and lead.rstrip().endswith("assert"):  # Part of a function or a patch.
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
        """Check whether a line is code that may change the result of later calls."""
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
    """List each fenced block: the positions where its content begins and ends, and its language."""
    marks = list(_FENCE.finditer(text))
    for opening, closing in zip(marks[::2], [*marks[1::2], None], strict=False):
        yield opening.end(), closing.start() if closing else len(text), opening[1].lower()


def _find_closing(text: str, at: int) -> int | None:
    """Return the position after the bracket that closes the bracket at `at`; None if none does."""
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
    """Return the position after the literal that begins at `at`; None if no literal begins there."""
    if match := _STRING.match(text, at) or _ATOM.match(text, at):
        return match.end()
    constructor = _MADE.match(text, at)
    at = constructor.end() if constructor else at
    return _find_closing(text, at) if text[at : at + 1] in _BRACKETS else None


def _read_literal(text: str) -> str | None:
    """Return a literal in the normal form of `core.code.literals`; None if the text is not a literal."""
    node = _read_expression(text)
    try:
        value = literals.value_of(node) if node is not None else ...
        if text.lstrip().startswith("(") and not isinstance(value, tuple):  # `("a")` may be meant as a tuple.
            return None
        return literals.write(value)
    except ValueError:
        return None


def _read_call(text: str) -> tuple[str, str, str] | None:
    """Return the name, positional arguments and keyword arguments of a call.

    The result is None if the text is not a call, or if an argument is not a literal.
    """
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
    """Check whether an example may be a function's signature: `main() -> None`, `run() -> "Result"`."""
    return sign in {"->", "→", "=>", "==>", "➞"} and call[1] == "()" and (expect == "None" or expect[:1] in "'\"")


def _rounding(expect: str) -> float | None:
    """Return half a unit of the last decimal place of a result, for comparing rounded numbers.

    The number with the fewest decimals decides. The result is None if no number has two or more decimals, or if the
    expected result is a text.
    """
    places = [len(digits) for digits in re.findall(r"\d\.(\d{2,})(?![\de])", expect)]
    return 0.5 * 10.0 ** -min(places) if places and expect[0] not in "'\"b" else None


def _may_begin_after(lead: str) -> bool:
    """Check whether a call after this part of its line may begin a claim.

    A call that is part of a larger expression or statement begins no claim.
    """
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
    """Return a text with its calls, and its parts in backticks, replaced by spaces."""
    return re.sub(r"`[^`\n]*`|[\w.]+\([^()\n]*\)", " ", text)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
