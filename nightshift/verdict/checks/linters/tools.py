"""The command of each linter, and parsers for the output of linters. Output lines that are not findings are ignored."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.code.repository_commands import Found, Linter, Purpose

NOT_THERE = 97
"""Exit status of `Tool.command` if the linter is not installed in the environment."""
_PYTHON = (".py", ".pyi")
_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_TYPED = (".ts", ".mts", ".cts", ".tsx")
_ROOT = "/work/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One finding of a linter; `line` counts from 1."""

    path: str
    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A linter.

    Attributes:
        endings: the extensions of the files that the linter reads.
        words: the command without the files; it must print one finding per line, and write no files.
        pattern: matches a line with a finding; has the groups `path`, `line`, `message` and optionally `code`.
        fine: the exit statuses that mean that the linter has checked everything.
        wheel: the distribution that contains the linter; empty if the linter is never downloaded.
        about_imports: the codes of findings that only report a missing module. They are ignored, because the
            environment is to blame.
        doubtful: the codes of findings that a missing module may cause. They are ignored if a module is missing.
        is_tree_wide: true if the linter checks the whole tree rather than single files.
        read: parses the output; None to compare each line with `pattern`.
    """

    endings: tuple[str, ...]
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    fine: frozenset[int] = frozenset({0, 1})
    wheel: str = ""
    about_imports: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    is_tree_wide: bool = False
    read: Callable[[Tool, str], Iterator[Issue]] | None = None

    def command(self, files: Sequence[str]) -> str:
        """Return the shell command that checks these files; tools that check the whole tree get no file names."""
        program = self.words[2] if self.words[:2] == ("python", "-m") else self.words[0]
        there = f"python -c 'import {program}' 2>/dev/null" if self.wheel else f"command -v {program} >/dev/null"
        named = () if self.is_tree_wide else ("--", *files) if self.wheel in {"ruff", "flake8"} else files
        path = 'PATH="$PWD/node_modules/.bin:$PATH"'
        return f"{path}; {there} || exit {NOT_THERE}; {shlex.join((*self.words, *named))}"

    def issues(self, output: str) -> list[Issue]:
        """List the findings in the output that are about files of the tree."""
        return list((self.read or _by_lines)(self, output))


def _by_lines(tool: Tool, output: str) -> Iterator[Issue]:
    for line in output.splitlines():
        match = tool.pattern.match(line)
        if match and (path := inside(match["path"])):
            code = match.groupdict().get("code") or ""
            yield Issue(path=path, line=int(match["line"]), code=code, message=match["message"].strip())


def _by_differences(tool: Tool, output: str) -> Iterator[Issue]:
    """List one issue for each hunk of `gofmt -d`, then the errors that gofmt reports."""
    path, at, is_reported = "", 0, True
    for line in output.splitlines():
        if header := re.match(r"\+\+\+ (?:b/)?(.+?)(?:\t.*)?$", line):
            path = inside(header[1]) or ""
        elif hunk := re.match(r"@@ -(\d+)", line):
            at, is_reported = int(hunk[1]) - 1, False
        elif path and not line.startswith(("---", "diff ")):
            at += line[:1] in {" ", "-"}
            if line.startswith("+") and not is_reported:
                is_reported = True
                written = line[1:].replace("\t", "\\t")
                yield Issue(path=path, line=max(at, 1), code="", message=f"gofmt writes it as `{written[:120]}`")
    yield from _by_lines(tool, output)


def _by_blocks(tool: Tool, output: str) -> Iterator[Issue]:
    """List the findings of pyright, whose messages may continue on indented lines and end with the rule."""
    lines = list[str]()
    for line in output.splitlines():
        if re.match(r"\s{3}", line) and lines:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    yield from _by_lines(tool, "\n".join(lines))


def inside(path: str) -> str | None:
    """Return a path relative to the tree; None if it is outside of the tree."""
    path = path.strip().removeprefix(_ROOT).removeprefix("./")
    return None if path.startswith(("/", "..", "<")) or not path else path


_COLUMNS = r"(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)?"

TOOLS: Mapping[Linter, Tool] = {
    Linter.RUFF: Tool(
        endings=_PYTHON,
        words=(
            *("python", "-m", "ruff", "check", "--output-format=concise", "--no-cache", "--no-fix", "--force-exclude"),
            *("--exit-zero", "--quiet"),
        ),
        pattern=re.compile(
            _COLUMNS + r" (?P<code>[A-Z]+\d+|SyntaxError|[a-z]+(?:-[a-z]+)+)(?: \[\*\])?:? (?P<message>.+)"
        ),
        fine=frozenset({0}),
        wheel="ruff",
    ),
    Linter.FLAKE8: Tool(
        endings=(".py",),
        words=("python", "-m", "flake8", "--format=default", "-j1"),
        pattern=re.compile(_COLUMNS + r" (?P<code>[A-Z]+\d+) (?P<message>.+)"),
        wheel="flake8",
    ),
    Linter.MYPY: Tool(
        endings=_PYTHON,
        words=(
            *("python", "-m", "mypy", "--no-color-output", "--no-pretty", "--show-error-codes", "--no-error-summary"),
            # mypy needs a cache if the configuration sets `num_workers`.
            *("--hide-error-context", "--hide-error-code-links", "--cache-dir=/tmp/mypy-cache"),
        ),
        pattern=re.compile(_COLUMNS + r" error: (?P<message>.+?)(?:  \[(?P<code>[\w-]+)\])?$"),
        fine=frozenset({0, 1, 2}),  # 2 means that a file is not valid Python; a line of the output reports it
        wheel="mypy",
        about_imports=frozenset({"import", "import-not-found", "import-untyped"}),
        doubtful=frozenset({"misc", "no-any-return", "no-any-unimported", "untyped-decorator", "unused-ignore"}),
    ),
    Linter.PYRIGHT: Tool(
        endings=_PYTHON,
        words=("pyright",),
        pattern=re.compile(r"\s*" + _COLUMNS + r"\d* ?-? ?error: (?P<message>.+?)(?: \((?P<code>report\w+)\))?$"),
        about_imports=frozenset({"reportMissingImports", "reportMissingModuleSource"}),
        doubtful=frozenset({"reportUnknownMemberType", "reportUnknownVariableType", "reportUntypedBaseClass"}),
        read=_by_blocks,
    ),
    Linter.ESLINT: Tool(
        endings=_SCRIPTS,
        words=("eslint", "--no-color", "--format", "./.nightshift-eslint.cjs"),
        pattern=re.compile(_COLUMNS + r" (?P<message>.+?)(?: \[(?P<code>[^\]]+)\])?$"),
    ),
    Linter.TSC: Tool(
        endings=_TYPED,
        words=("tsc", "--noEmit", "--pretty", "false", "-p", "."),
        pattern=re.compile(r"(?P<path>[^(\n]+)\((?P<line>\d+),\d+\): error (?P<code>TS\d+): (?P<message>.+)"),
        fine=frozenset({0, 1, 2}),
        about_imports=frozenset({"TS2307", "TS7016", "TS2792", "TS2688", "TS2580", "TS2591"}),
        doubtful=frozenset({"TS7006", "TS7031"}),
        is_tree_wide=True,
    ),
    Linter.GOFMT: Tool(
        endings=(".go",),
        words=("gofmt", "-d"),
        pattern=re.compile(_COLUMNS + r" (?P<message>.+)"),
        fine=frozenset({0, 1, 2}),
        read=_by_differences,
    ),
    Linter.GOVET: Tool(
        endings=(".go",),
        words=("go", "vet", "./..."),
        pattern=re.compile(r"(?:vet: )?" + _COLUMNS + r" (?P<message>.+)"),
        fine=frozenset({0, 1, 2}),
        is_tree_wide=True,
    ),
}
FORMATTER = (
    "module.exports = (results) => results.flatMap((each) => each.messages.filter((one) => one.severity === 2).map("
    "(one) => `${each.filePath}:${one.line || 1}: ${one.message.replace(/\\s+/g, ' ')} [${one.ruleId || 'parse'}]`"
    ")).join('\\n') + '\\n';\n"
)
"""Our own ESLint formatter, because the built-in formats change between versions. It prints one line per error."""
FORMATTER_PATH = ".nightshift-eslint.cjs"

CONFIGURES = frozenset({
    "pyproject.toml", "ruff.toml", ".ruff.toml", "setup.cfg", "tox.ini", ".flake8", "mypy.ini", ".mypy.ini",
    "pyrightconfig.json", "tsconfig.json", "package.json", ".eslintignore", FORMATTER_PATH,
})  # fmt: skip
_ESLINT = re.compile(r"(eslint\.config\.[cm]?[jt]s|\.eslintrc(\.\w+)?)")
_TARGETS = re.compile(r"^[ \t]*(files|packages|modules)[ \t]*=", re.MULTILINE)


def configures(path: str) -> bool:
    """Check whether a file configures a linter. Such files are always taken from the base."""
    name = path.rpartition("/")[2]
    return name in CONFIGURES or bool(_ESLINT.fullmatch(name))


def mypy_targets(commands: Found, config: str) -> tuple[str, ...] | None:
    """Return the targets that mypy has to check for this repository.

    Args:
        commands: the commands of the repository.
        config: the text of mypy's configuration file.

    Returns:
        The targets in the repository's own mypy command. Empty if mypy's configuration names the targets instead. None
        if neither names targets, so that mypy has to check the files of the change.
    """
    command = commands.command(Purpose.TYPES)
    words = command.words if command else ()
    words = words[2:] if words[:2] == ("python", "-m") else words
    paths = tuple(word for word in words[1:] if not word.startswith("-"))
    if words[:1] == ("mypy",) and paths and all(not re.search(r"[^\w./-]", path) for path in paths):
        return paths
    return () if _TARGETS.search(config) else None
