"""Parses shell text into simple commands.

Handles quotes, expansions, pipelines, lists, functions, here-documents and substitutions.

The parser runs nothing and never fails. Text that is only known at run time, such as a variable that the script does
not set or the output of a command, becomes `UNKNOWN`. The parser evaluates everything that decides which program runs
with which arguments: constant assignments, `cd`, and text that is piped or redirected into a shell. It does not undo
spellings that only hide a command, such as brace expansion and escapes in `$'…'`: the sandbox contains what they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from nightshift.verdict.checks.hooks.commands import UNKNOWN, Command

MAX_CHARS = 200_000
MAX_DEPTH = 8
_RESERVED = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi",
                       "done", "esac"})  # fmt: skip
_SEPARATORS = frozenset({"\n", ";", "&", "&&", "||", "|", "|&", "(", ")", ";;", ";&", ";;&"})
_OPERATORS = (
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "&>", ">>", ">|", ">&", "<<", "<&", "<>",
    "|", "&", ";", ">", "<", "(", ")", "\n",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACED = re.compile(r"([A-Za-z_]\w*|[0-9@*#?$!-])(?::?[-=+?](.*))?$", re.DOTALL)
# Variables that are not expanded, because the patterns of forbidden commands look for their names.
_KEPT = frozenset({"HOME", "0"})


@dataclass(slots=True)
class _Open:
    """The command that is being parsed."""

    words: list[Token] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    stdin: str = ""
    fed_by: set[str] = field(default_factory=set)


def commands(text: str, depth: int = 0) -> list[Command]:
    """Return all simple commands of a script in text order, including those in substitutions."""
    return _Script(text[:MAX_CHARS], depth).read() if depth <= MAX_DEPTH else []


class _Script:
    def __init__(self, text: str, depth: int) -> None:
        self._lexer, self._depth = Lexer(text), depth
        self._commands: list[Command] = []
        self._open = _Open()
        self._pipe: list[Command] = []
        self._cwd = ""
        self._functions: list[str] = []

    def read(self) -> list[Command]:
        tokens = self._lexer.tokens()
        for token in tokens:
            if token.operator in _SEPARATORS:
                self._separator(token.operator)
            elif token.operator:
                self._redirect(token.operator, next(tokens, None))
            else:
                self._word(token)
        self._end_pipe(parallel=False)
        return self._commands

    def _separator(self, operator: str) -> None:
        if operator == "(" and self._names_function():
            return
        self._end_command()
        if operator not in {"|", "|&"}:
            self._end_pipe(parallel=operator == "&")

    def _names_function(self) -> bool:
        """Check whether `(` follows a single word, which begins a function, and record the function's name.

        The `)` and the function's body are then parsed like commands.
        """
        if len(self._open.words) != 1:
            return False
        self._functions.append(self._open.words[0].text)
        self._open = _Open()
        return True

    def _word(self, token: Token) -> None:
        self._read_substitutions(token)
        if token.text == "}" and not self._open.words and self._functions:
            self._functions.pop()
        if self._open.words or (token.text not in _RESERVED and not self._assigns(token)):
            self._open.words.append(token)

    def _assigns(self, token: Token) -> bool:
        """Check whether a word is an assignment `NAME=value`, and store its value for the rest of the script."""
        name, equals, value = token.text.partition("=")
        if not (equals and name.isidentifier()):
            return False
        self._lexer.values[name] = value
        return True

    def _redirect(self, operator: str, target: Token | None) -> None:
        if target is None:
            return
        if operator.startswith("<<"):
            self._open.stdin += target.text + "\n"
        elif operator.startswith(">") or operator == "&>":
            self._open.writes.append(target.text)
        self._read_substitutions(target)

    def _read_substitutions(self, token: Token) -> None:
        """Add the commands in the substitutions of a word; the open command reads their output."""
        for inner in token.inner:
            for command in commands(inner, self._depth + 1):
                self._open.fed_by.add(command.program)
                within = command.within | frozenset(self._functions)
                self._commands.append(replace(command, cwd=command.cwd or self._cwd, within=within))

    def _end_command(self) -> None:
        done, self._open = self._open, _Open()
        words = tuple(word.text for word in done.words)
        if words[:1] in {("for",), ("case",), ("select",)}:
            return
        if words[:1] == ("function",) and len(words) > 1:
            self._functions.append(words[1])
            words = words[3:] if words[2:3] == ("{",) else words[2:]
        if words or done.writes:
            self._pipe.append(
                Command(
                    argv=words,
                    writes=tuple(done.writes),
                    stdin=done.stdin,
                    fed_by=frozenset(done.fed_by),
                    cwd=self._cwd,
                    within=frozenset(self._functions),
                )
            )
            self._change_folder(words)

    def _end_pipe(self, *, parallel: bool) -> None:
        self._end_command()
        pipe, self._pipe = self._pipe, []
        parallel = parallel or len(pipe) > 1
        for at, command in enumerate(pipe):
            before = pipe[:at]
            self._commands.append(
                replace(
                    command,
                    parallel=parallel,
                    fed_by=command.fed_by | {feeder.program for feeder in before},
                    stdin=command.stdin or (_output(before[-1]) if before else ""),
                )
            )

    def _change_folder(self, words: tuple[str, ...]) -> None:
        if words[:1] in {("cd",), ("pushd",)}:
            target = next((word for word in words[1:] if not word.startswith("-")), "~")
            rooted = target.startswith(("/", "~", "$HOME", UNKNOWN)) or not self._cwd
            self._cwd = target if rooted else f"{self._cwd.rstrip('/')}/{target}"


def _output(command: Command) -> str:
    """Return the output that a command pipes to the next one, as far as it is known."""
    if command.program in {"find", "ls"}:
        return " ".join(word for word in command.args if not word.startswith("-"))
    if command.program not in {"echo", "printf"}:
        return command.stdin if command.program == "cat" else ""
    words = [word for word in command.args if not word.startswith("-")]
    return " ".join(words).replace("\\n", "\n")


def words(text: str) -> Iterator[str]:
    """Return the words of a shell text without its operators; used for patterns that the owner wrote."""
    return (token.text for token in Lexer(text).tokens() if not token.operator)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word or an operator. `inner` holds the text of each substitution in a word."""

    text: str = ""
    operator: str = ""
    inner: tuple[str, ...] = ()


@dataclass(slots=True)
class _Word:
    text: str = ""
    inner: list[str] = field(default_factory=list)
    begun: bool = False


class Lexer:
    """Splits a shell text into words and operators; the caller can iterate over them only once.

    Attributes:
        values: the variables known so far, name to value. The caller may add variables while it reads tokens.
    """

    def __init__(self, text: str) -> None:
        self._text, self._at = text.replace("\\\n", ""), 0
        self.values: dict[str, str] = {"PWD": ".", "IFS": " ", "OLDPWD": UNKNOWN}
        self._word = _Word()
        self._bodies: list[str] = []

    def tokens(self) -> Iterator[Token]:
        """Yield words and operators in order; the body of a here-document is the word after its operator."""
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
        operator = next((candidate for candidate in _OPERATORS if self._text.startswith(candidate, self._at)), "")
        return "" if operator in {"<", ">"} and self._text.startswith("(", self._at + 1) else operator

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
        """Read the end mark of a here-document, cut the body out of the text, and return the body."""
        match = re.compile(r"[ \t]*(['\"\\]?)([\w.-]+)['\"]?").match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        start = self._text.find("\n", self._at)
        if start < 0:
            return ""
        end = re.compile(rf"^{'[ 	]*' if strip else ''}{re.escape(match[2])}[ \t]*$", re.MULTILINE)
        end_match = end.search(self._text, start + 1)
        stop, after = (end_match.start(), end_match.end()) if end_match else (len(self._text), len(self._text))
        body = self._text[start + 1 : stop]
        self._text = self._text[: start + 1] + self._text[after + 1 :]
        return body

    def _part(self, char: str) -> Iterator[Token]:
        """Read one part of a word, such as a quoted text, a substitution or a single character."""
        self._word.begun = True
        self._at += 1
        if char == "\\":
            self._add(self._text[self._at : self._at + 1])
            self._at += 1
        elif char == "'":
            self._add(self._until("'"))
        elif char == '"':
            self._double()
        elif char == "`":
            self._substitute(self._until("`"))
        elif char in "<>" and self._text.startswith("(", self._at):
            self._at += 1
            self._substitute(self._read_nested("(", ")"))
        elif char == "$":
            yield from self._split(self._dollar())
        else:
            self._add(char)

    def _dollar(self) -> str:
        """Return the value of the expansion after a dollar sign."""
        text, at = self._text, self._at
        if text.startswith("((", at):
            self._at += 2
            self._read_nested("(", ")")
            self._at += text.startswith(")", self._at)
            return UNKNOWN
        if text.startswith("(", at):
            self._at += 1
            self._substitute(self._read_nested("(", ")"))
            return ""
        if text.startswith("{", at):
            self._at += 1
            return self._read_braces(self._read_nested("{", "}"))
        if match := _NAME.match(text, at):
            self._at = match.end()
            return self._value(match[0])
        return "$"

    def _read_braces(self, inside: str) -> str:
        match = _BRACED.match(inside)
        if match is None:
            return UNKNOWN
        value = self._value(match[1])
        return match[2] if value == UNKNOWN and match[2] else value

    def _value(self, name: str) -> str:
        return f"${name}" if name in _KEPT and name not in self.values else self.values.get(name, UNKNOWN)

    def _split(self, value: str) -> Iterator[Token]:
        """Add the value of an unquoted expansion; white space in the value separates words."""
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
                self._add(self._text[self._at : self._at + 1])
                self._at += 1
            elif char == "`":
                self._substitute(self._until("`"))
            elif char == "$":
                self._add(self._dollar())
            else:
                self._add(char)

    def _substitute(self, inner: str) -> None:
        self._word.inner.append(inner)
        self._word.begun = True
        self._add(UNKNOWN)

    def _add(self, text: str) -> None:
        self._word.text += text

    def _flush(self) -> Iterator[Token]:
        word, self._word = self._word, _Word()
        if word.begun:
            yield Token(text=word.text, inner=tuple(word.inner))

    def _until(self, mark: str) -> str:
        end = self._text.find(mark, self._at)
        end = len(self._text) if end < 0 else end
        text, self._at = self._text[self._at : end], end + 1
        return text

    def _skip_to(self, mark: str) -> None:
        end = self._text.find(mark, self._at)
        self._at = len(self._text) if end < 0 else end

    def _read_nested(self, opening: str, closing: str) -> str:
        """Return the text up to the matching closing mark; marks inside quotes do not count."""
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
