"""The characters of shell text to words and operators; never fails, an open quote ends with the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.hooks.braces import MARKED, expanded, unmarked
from checks.hooks.commands import UNKNOWN

_OPERATORS = (
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", ">>", ">|", ">&", "<<", "<&", "<>",
    "|", "&", ";", ">", "<", "(", ")", "\n",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACED = re.compile(r"([A-Za-z_]\w*|[0-9@*#?$!-])(?::?[-=+?](.*))?$", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
# What stays as it is typed: rules look for it.
_KEPT = frozenset({"HOME", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word, or an operator. `inner` are the texts of substitutions that stand in a word."""

    text: str = ""
    operator: str = ""
    inner: tuple[str, ...] = ()


@dataclass(slots=True)
class _Word:
    text: str = ""
    inner: list[str] = field(default_factory=list)
    begun: bool = False


class Lexer:
    """Reads a text once. `values` are the variables that are known so far; who reads may add to them meanwhile."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text.replace("\\\n", ""), 0
        self.values: dict[str, str] = {"PWD": ".", "IFS": " ", "OLDPWD": UNKNOWN}
        self._word = _Word()
        self._heredocs: list[str] = []
        self._bodies: list[str] = []

    def tokens(self) -> Iterator[Token]:
        """Words and operators in order; a here-document comes as the word after its operator."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r":
                self._at += 1
                yield from self._flush()
            elif char == "#" and not self._word.begun:
                self._skip_to("\n")
            elif operator := self._operator():
                yield from self._operate(operator)
            else:
                yield from self._part(char)
        yield from self._flush()

    def _operator(self) -> str:
        found = next((one for one in _OPERATORS if self._text.startswith(one, self._at)), "")
        return "" if found in {"<", ">"} and self._text.startswith("(", self._at + 1) else found

    def _operate(self, operator: str) -> Iterator[Token]:
        if operator[0] in "<>" and self._word.text.isdigit():
            self._word = _Word()
        yield from self._flush()
        self._at += len(operator)
        if operator in {"<<", "<<-"}:
            yield Token(operator="<<<")
            yield Token(text=self._heredoc(strip=operator == "<<-"))
        elif operator in {">&", "<&"} and self._text[self._at : self._at + 1] in "0123456789-":
            self._at += 1
        else:
            yield Token(operator=operator)

    def _heredoc(self, *, strip: bool) -> str:
        """The body of a here-document, taken out of the text; its end mark is the next word."""
        match = re.compile(r"[ \t]*(['\"\\]?)([\w.-]+)['\"]?").match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        start = self._text.find("\n", self._at)
        if start < 0:
            return ""
        end = re.compile(rf"^{'[ 	]*' if strip else ''}{re.escape(match[2])}[ \t]*$", re.MULTILINE)
        found = end.search(self._text, start + 1)
        stop, after = (found.start(), found.end()) if found else (len(self._text), len(self._text))
        body = self._text[start + 1 : stop]
        self._text = self._text[: start + 1] + self._text[after + 1 :]
        return body

    def _part(self, char: str) -> Iterator[Token]:
        """One piece of a word."""
        self._word.begun = True
        self._at += 1
        if char == "\\":
            self._add(self._text[self._at : self._at + 1], quoted=True)
            self._at += 1
        elif char == "'":
            self._add(self._until("'"), quoted=True)
        elif char == '"':
            self._double()
        elif char == "`":
            self._substitute(self._until("`"))
        elif char in "<>" and self._text.startswith("(", self._at):
            self._at += 1
            self._substitute(self._nested("(", ")"))
        elif char == "$":
            yield from self._split(self._dollar())
        else:
            self._add(char)

    def _dollar(self) -> str:
        """The value of what follows a dollar sign."""
        text, at = self._text, self._at
        if text.startswith("((", at):
            self._at += 2
            self._nested("(", ")")
            self._at += text.startswith(")", self._at)
            return UNKNOWN
        if text.startswith("(", at):
            self._at += 1
            self._substitute(self._nested("(", ")"))
            return ""
        if text.startswith("{", at):
            self._at += 1
            return self._braced(self._nested("{", "}"))
        if text.startswith("'", at):
            self._at += 1
            return _ESCAPED.sub(_unescape, self._until("'"))
        if match := _NAME.match(text, at):
            self._at = match.end()
            return self._value(match[0])
        return "$"

    def _braced(self, inside: str) -> str:
        match = _BRACED.match(inside)
        if match is None:
            return UNKNOWN
        value = self._value(match[1])
        return match[2] if value == UNKNOWN and match[2] else value

    def _value(self, name: str) -> str:
        return f"${name}" if name in _KEPT and name not in self.values else self.values.get(name, UNKNOWN)

    def _split(self, value: str) -> Iterator[Token]:
        """An unquoted value: white space in it parts words."""
        for at, part in enumerate(re.split(r"\s+", value)):
            if at:
                yield from self._flush()
                self._word.begun = bool(part)
            self._add(part)

    def _double(self) -> None:
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == '"':
                return
            if char == "\\" and self._text[self._at : self._at + 1] in '"\\$`':
                self._add(self._text[self._at : self._at + 1], quoted=True)
                self._at += 1
            elif char == "`":
                self._substitute(self._until("`"))
            elif char == "$":
                self._add(self._dollar(), quoted=True)
            else:
                self._add(char, quoted=True)

    def _substitute(self, inner: str) -> None:
        self._word.inner.append(inner)
        self._word.begun = True
        self._add(UNKNOWN)

    def _add(self, text: str, *, quoted: bool = False) -> None:
        self._word.text += text.translate(MARKED) if quoted else text

    def _flush(self) -> Iterator[Token]:
        word, self._word = self._word, _Word()
        if word.begun:
            inner = tuple(word.inner)
            for text in expanded(word.text):
                yield Token(text=unmarked(text), inner=inner)
                inner = ()

    def _until(self, mark: str) -> str:
        end = self._text.find(mark, self._at)
        end = len(self._text) if end < 0 else end
        found, self._at = self._text[self._at : end], end + 1
        return found

    def _skip_to(self, mark: str) -> None:
        end = self._text.find(mark, self._at)
        self._at = len(self._text) if end < 0 else end

    def _nested(self, opening: str, closing: str) -> str:
        """The text up to the closing mark that fits; marks inside of quotes do not count."""
        depth, start, quote = 1, self._at, ""
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == "\\" and quote != "'":
                self._at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            else:
                depth += (char == opening) - (char == closing)
                if not depth:
                    return self._text[start : self._at - 1]
        return self._text[start:]


def _unescape(match: re.Match[str]) -> str:
    hexed, wide, octal, plain = match.groups()
    if plain is not None:
        return {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a"}.get(plain, plain)
    return chr(int(hexed or wide, 16) if hexed or wide else int(octal, 8))
