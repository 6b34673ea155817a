"""Shell text to simple commands: quotes, expansions, pipelines, lists, functions, here-documents, substitutions.

This is no shell: it never fails, and what it cannot know (a variable that the script does not set, the output of a
command) becomes `UNKNOWN`. It follows what decides which program runs with which words: constant assignments, brace
expansion, word splitting of `$IFS`, `cd`, text that is piped or redirected into a shell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from checks.hooks.commands import UNKNOWN, Command
from checks.hooks.lexer import Lexer, Token

MAX_CHARS = 200_000
MAX_DEPTH = 8
_RESERVED = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi",
                       "done", "esac"})  # fmt: skip
_SEPARATORS = frozenset({"\n", ";", "&", "&&", "||", "|", "|&", "(", ")", ";;", ";&", ";;&"})


@dataclass(slots=True)
class _Open:
    """The command that is being read."""

    words: list[Token] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    stdin: str = ""
    fed_by: set[str] = field(default_factory=set)


def commands(text: str, depth: int = 0) -> list[Command]:
    """All simple commands of a script, those inside of substitutions too, in the order of the text."""
    return _Script(text[:MAX_CHARS], depth).read() if depth <= MAX_DEPTH else []


class _Script:
    def __init__(self, text: str, depth: int) -> None:
        self._lexer, self._depth = Lexer(text), depth
        self._found: list[Command] = []
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
        return self._found

    def _separator(self, operator: str) -> None:
        if operator == "(" and self._names_function():
            return
        self._end_command()
        if operator not in {"|", "|&"}:
            self._end_pipe(parallel=operator == "&")

    def _names_function(self) -> bool:
        """`name (` begins a function; `)` and the body follow as if they were commands."""
        if len(self._open.words) != 1:
            return False
        self._functions.append(self._open.words[0].text)
        self._open = _Open()
        return True

    def _word(self, token: Token) -> None:
        for inner in token.inner:
            found = commands(inner, self._depth + 1)
            self._open.fed_by |= {command.program for command in found}
            self._found += [replace(one, cwd=one.cwd or self._cwd, within=self._within(one)) for one in found]
        if token.text == "}" and not self._open.words and self._functions:
            self._functions.pop()
        if self._open.words or (token.text not in _RESERVED and not self._assigns(token)):
            self._open.words.append(token)

    def _assigns(self, token: Token) -> bool:
        """`NAME=value` before a command; a constant value is remembered for the rest of the script."""
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
        for inner in target.inner:
            found = commands(inner, self._depth + 1)
            self._open.fed_by |= {command.program for command in found}
            self._found += found

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
            self._found.append(
                replace(
                    command,
                    parallel=parallel,
                    fed_by=command.fed_by | {one.program for one in before},
                    stdin=command.stdin or (_said(before[-1]) if before else ""),
                )
            )

    def _change_folder(self, words: tuple[str, ...]) -> None:
        if words[:1] in {("cd",), ("pushd",)}:
            target = next((word for word in words[1:] if not word.startswith("-")), "~")
            rooted = target.startswith(("/", "~", "$HOME", UNKNOWN)) or not self._cwd
            self._cwd = target if rooted else f"{self._cwd.rstrip('/')}/{target}"

    def _within(self, command: Command) -> frozenset[str]:
        return command.within | frozenset(self._functions)


def _said(command: Command) -> str:
    """What a command writes for the one who reads it, where that can be known."""
    if command.program in {"find", "ls"}:
        return " ".join(word for word in command.args if not word.startswith("-"))
    if command.program not in {"echo", "printf"}:
        return command.stdin if command.program == "cat" else ""
    words = [word for word in command.args if not word.startswith("-")]
    return " ".join(words).replace("\\n", "\n")


def words(text: str) -> Iterator[str]:
    """The words of a text without operators, for patterns that a person typed."""
    return (token.text for token in Lexer(text).tokens() if not token.operator)
