"""Reads files that name commands. Each reader accepts any text, and yields the commands or linters that the text names.

The work of a reader is bounded. At most `MAX_CHARS` characters of a file are read. YAML is read as a tree in which each
node is visited once. TOML, INI and JSON are read by parsers that execute nothing. A file that cannot be read yields
nothing.
"""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from nightshift.core.code.parsing import parse_quietly
from nightshift.core.code.repository_commands import FoundCommand, FoundLinter, Linter
from nightshift.core.text import plain_data
from nightshift.verdict.languages.repository_commands.lines import NAMES, commands, words_of

MAX_CHARS = 256_000
MAX_YAML_CHARS = 64_000
MAX_NODES = 20_000
MAX_DOTS, MAX_BRACKETS = 300, 200
"""Maximum number of dots in a TOML line, and of nested brackets in YAML.

Above these limits, the parsers take quadratic time.
"""
MAX_FOUND = 200
"""Maximum number of commands or linters from one file."""

_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)\s*([\w+-]*)")
_SPAN = re.compile(r"(?<!`)`([^`\n]{3,300})`(?!`)")
_SHELLS = {"", "sh", "bash", "shell", "console", "zsh", "text", "shell-session", "terminal"}
_POSARGS = re.compile(r"\{posargs(?::([^{}]*))?\}|\{args(?::([^{}]*))?\}|\{tty:[^{}]*\}")
_TARGET = re.compile(r"^([A-Za-z][\w.-]*(?:[ \t]+[A-Za-z][\w.-]*)*)[ \t]*::?(?![=:])")
_PIN = re.compile(r"^\s*(ruff|flake8|mypy|pyright)\s*==\s*([0-9][\w.]*)\s*(?:;.*)?$")


def markdown(text: str, path: str) -> Iterator[FoundCommand]:
    """List the commands in code blocks and inline code of a Markdown file such as AGENTS.md."""
    fence, kind = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2]:
                fence = ""
            elif kind in _SHELLS:
                yield from commands(line.partition(" #")[0], path, number)
        elif mark:
            fence, kind = mark[1], mark[2].lower()
        else:
            for span in _SPAN.findall(line):
                yield from commands(span, path, number)


def makefile(text: str, path: str) -> Iterator[FoundCommand]:
    """List `make` commands for the Makefile targets whose names indicate that they test, lint or type-check."""
    for number, line in enumerate(text.splitlines(), 1):
        match = _TARGET.match(line)
        for name in match[1].split() if match else ():
            if name in NAMES:
                yield FoundCommand(purpose=NAMES[name], words=("make", name), path=path, line=number)


def tox(text: str, path: str) -> Iterator[FoundCommand]:
    """List the commands that the test environments of a tox.ini run."""
    parser = ini(text)
    for section in parser.sections() if parser else ():
        if section.startswith("testenv") and parser is not None:
            lines = parser[section].get("commands", "") if "commands" in parser[section] else ""
            start = _line_of_header(text, section)
            for each in lines.replace("\\\n", " ").splitlines():
                line = _POSARGS.sub(lambda match: match[1] or match[2] or "", each.strip().lstrip("-! "))
                if "{" not in line:
                    yield from commands(line, path, _line_with(text, each.strip()[:40], start))


def nox(text: str, path: str) -> Iterator[FoundCommand]:
    """List the commands that the sessions of a noxfile.py run; arguments that are not literals end a command."""
    tree = parse_quietly(text)
    for node in ast.walk(tree) if tree else ():
        if not isinstance(node, ast.FunctionDef) or not any(map(_is_session, node.decorator_list)):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "run":
                words = _constants(call.args)
                if words:
                    yield from commands(shlex.join(words), path, call.lineno)


def package_json(text: str, path: str) -> Iterator[FoundCommand]:
    """List the package.json scripts whose names indicate that they test, lint or type-check."""
    scripts = _json(text).get("scripts")
    for name, script in scripts.items() if isinstance(scripts, dict) else ():
        purpose = NAMES.get(name) if isinstance(name, str) else None
        if purpose is None or not isinstance(script, str) or not script.strip() or "no test specified" in script:
            continue
        words = words_of(script)
        is_simple = words is not None and not re.search(r"[|&;<>$`(){}*?]", script)
        at = _line_with(text, json.dumps(name, ensure_ascii=False), _line_with(text, '"scripts"', 1))
        shown = tuple(words or ()) if is_simple and words else ("sh", "-c", script)
        yield FoundCommand(purpose=purpose, words=shown, path=path, line=at)


def project_tasks(text: str, path: str) -> Iterator[FoundCommand]:
    """List the commands in a pyproject.toml: poe tasks, pdm scripts and hatch scripts."""
    tool = get_table(read_toml(text), "tool")
    tasks: list[tuple[str, object, str]] = [
        *((name, each, "tool.poe.tasks") for name, each in get_table(tool, "poe", "tasks").items()),
        *((name, each, "tool.pdm.scripts") for name, each in get_table(tool, "pdm", "scripts").items()),
    ]
    for env, table in get_table(tool, "hatch", "envs").items():
        scripts = table.get("scripts") if isinstance(table, dict) else None
        if isinstance(scripts, dict):
            tasks += [(name, each, f"tool.hatch.envs.{env}.scripts") for name, each in scripts.items()]
    for name, value, header in tasks:
        line = _line_with(text, name, _line_of_header(text, header))
        for each in _texts(value):
            yield from commands(_POSARGS.sub("", each), path, line)


def pipelines(text: str, path: str) -> Iterator[FoundCommand]:
    """List the commands in the `run:` lines of a GitHub workflow, and in the scripts of a GitLab pipeline."""
    for key, node in _pairs(text):
        wanted = key in {"run", "script", "before_script"}
        for value, line in _scalars(node) if wanted else ():
            for number, each in enumerate(value.replace("\\\n", " ").splitlines()):
                yield from commands(each, path, line + number)


def hooks(text: str, path: str) -> Iterator[FoundLinter]:
    """List the linters among the hooks of a .pre-commit-config.yaml, with the versions that it pins."""
    import yaml  # noqa: PLC0415 (slow to import)

    for key, node in _pairs(text):
        if key != "repos" or not isinstance(node, yaml.SequenceNode):
            continue
        for repo in node.value:
            parts = _mapping(repo)
            rev = parts["rev"].value if isinstance(parts.get("rev"), yaml.ScalarNode) else ""
            listed = parts.get("hooks")
            for hook in listed.value if isinstance(listed, yaml.SequenceNode) else ():
                named = _mapping(hook).get("id")
                linter = _HOOKS.get(named.value) if isinstance(named, yaml.ScalarNode) else None
                if linter and isinstance(named, yaml.ScalarNode):
                    version = rev.removeprefix("v") if re.fullmatch(r"v?\d+(\.\d+)+", rev) else ""
                    line = named.start_mark.line + 1
                    yield FoundLinter(linter=linter, path=path, line=line, version=version)


_HOOKS = {
    "ruff": Linter.RUFF, "ruff-check": Linter.RUFF, "flake8": Linter.FLAKE8, "mypy": Linter.MYPY,
    "pyright": Linter.PYRIGHT, "eslint": Linter.ESLINT, "go-fmt": Linter.GOFMT, "go-vet": Linter.GOVET,
}  # fmt: skip


def project_linters(text: str, path: str) -> Iterator[FoundLinter]:
    """List the linters that a pyproject.toml configures, with the versions that its dependency groups pin."""
    read = read_toml(text)
    versions = dict[str, str]()
    groups = [
        *get_table(read, "dependency-groups").values(),
        *get_table(read, "project", "optional-dependencies").values(),
    ]
    for each in (item for group in groups if isinstance(group, list) for item in group if isinstance(item, str)):
        if pinned := _PIN.match(each):
            versions.setdefault(pinned[1], pinned[2])
    for linter in (Linter.RUFF, Linter.MYPY, Linter.PYRIGHT):
        if isinstance(get_table(read, "tool").get(linter.value), dict):
            line = _line_of_header(text, f"tool.{linter}")
            yield FoundLinter(linter=linter, path=path, line=line, version=versions.get(linter, ""))


def ini_linters(text: str, path: str) -> Iterator[FoundLinter]:
    """List the linters that have a section in a setup.cfg, tox.ini or .flake8."""
    parser = ini(text)
    for linter in (Linter.FLAKE8, Linter.MYPY):
        if parser and parser.has_section(linter.value):
            yield FoundLinter(linter=linter, path=path, line=_line_of_header(text, linter.value))


# The functions below parse any text without an error, and return plain data.


def ini(text: str) -> configparser.ConfigParser | None:
    """Parse an INI file; None if it is invalid."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, default_section="\0")
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError, AttributeError):  # AttributeError: a continuation line without a value
        return None
    return parser


def read_toml(text: str) -> Mapping[str, Any]:
    """Parse a TOML file; empty if it is invalid."""
    if any(line.count(".") > MAX_DOTS for line in text.splitlines()):
        return {}
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}


def _json(text: str) -> Mapping[str, Any]:
    try:
        content = plain_data.read_json(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def get_table(value: object, *keys: str) -> Mapping[str, Any]:
    """Return a table, or with `keys` the table below it; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    """Return the commands of a task, which may be a text, a list of texts, or a table with `cmd` or `shell`."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [each for each in value[:MAX_FOUND] if isinstance(each, str)]
    if isinstance(value, Mapping):
        return [text for key in ("cmd", "shell") for text in _texts(value.get(key))]
    return []


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """Yield each key of a YAML text with the node of its value, at any depth.

    A node that several aliases share is visited once.
    """
    import yaml  # noqa: PLC0415 (slow to import)

    if len(text) > MAX_YAML_CHARS or _depth(text) > MAX_BRACKETS:
        return
    try:
        waiting = [yaml.compose(text, Loader=yaml.SafeLoader)]
    except (yaml.YAMLError, RecursionError, ValueError):
        return
    seen = set[int]()
    while waiting and len(seen) < MAX_NODES:
        node = waiting.pop(0)
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    yield key.value, value
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def _depth(text: str) -> int:
    """Return the maximum depth of nested brackets in a text; brackets inside strings count as well."""
    deepest = depth = 0
    for sign in re.findall(r"[\[{}\]]", text):
        depth = max(0, depth + (1 if sign in "[{" else -1))
        deepest = max(deepest, depth)
    return deepest


def _scalars(node: Any) -> list[tuple[str, int]]:
    """Return the texts of a YAML scalar or of a list of scalars, each with the line number at which its text starts."""
    import yaml  # noqa: PLC0415 (slow to import)

    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    texts = [each for each in nodes if isinstance(each, yaml.ScalarNode)]
    return [(each.value, each.start_mark.line + (2 if each.style in {"|", ">"} else 1)) for each in texts[:MAX_FOUND]]


def _mapping(node: Any) -> Mapping[str, Any]:
    import yaml  # noqa: PLC0415 (slow to import)

    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _is_session(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(named, ast.Attribute) and named.attr == "session") or (
        isinstance(named, ast.Name) and named.id == "session"
    )


def _constants(args: list[ast.expr]) -> list[str]:
    """Return the arguments of a call up to the first that is not a string literal, such as `*session.posargs`."""
    words = list[str]()
    for arg in args:
        if not (isinstance(arg, ast.Constant) and isinstance(arg.value, str)):
            break
        words.append(arg.value)
    return words


# The functions below find the line numbers of the commands and linters in a file.


def _line_of_header(text: str, name: str) -> int:
    """Return the line number of the header `[name]`.

    If there is no such header, the first header that begins with `[name.` counts. If there is none either, the result
    is 1.
    """
    for pattern in (rf"^\s*\[\[?\s*{re.escape(name)}\s*\]", rf"^\s*\[\[?\s*{re.escape(name)}\."):
        if match := re.search(pattern, text, re.MULTILINE):
            return text.count("\n", 0, match.end()) + 1
    return 1


def _line_with(text: str, wanted: str, start: int) -> int:
    """Return the number of the first line at or after `start` that contains `wanted`; `start` if there is none."""
    lines = text.split("\n")
    return next((n for n, line in enumerate(lines[start - 1 :], start) if wanted in line), start)
