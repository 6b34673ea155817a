"""Limits the size of each package: growth without a stated reason fails `make lint`.

    python scripts/size.py                  # print today's sizes
    python scripts/size.py --check          # fail if a number is above the one in size.toml
    python scripts/size.py --write          # lower the numbers in size.toml to today's
    python scripts/size.py --write --raise PACKAGE.COLUMN --because "…"     # let one rise, and store the reason

`--raise` may be given several times; `--raise PACKAGE` means all columns of a package, such as a new one. Only files
that git tracks are counted, as they are in the working tree. Standard library only.

The columns: `code` (lines of Python that are neither blank, comment nor docstring), `statements` (of Python, without
docstrings), `javascript`, `sql` and `templates` (lines that are not blank), `files` (of all these), `participles`
(functions named by a participle; properties are nouns), `openers` (docstrings that open with What, Who, Which or
Where), `fillers` (bindings of a name without meaning: section 3 of the design).
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "size.toml"

INSIDE = (
    "client", "app", "server", "maintenance", "attempt", "report", "remote", "models", "verdict", "sandbox", "git",
    "queue", "storage", "config", "agent", "core",
)  # fmt: skip
"""The packages of the product, from the top layer down."""
PACKAGES: Mapping[str, Sequence[str]] = {
    **{name: (f"nightshift/{name}/",) for name in INSIDE},
    "facades": (
        "nightshift/__init__.py", "nightshift/__main__.py", "nightshift/launch.py", "server/",
        "cli.py", "config.py", "git_manager.py", "main.py", "model_handler.py", "queue_manager.py", "task_executor.py",
        "test_runner.py", "weekly_summary.py",
    ),
    "engine": ("engine/nightshift_engine/",),
    "bench": ("bench/", "engine/bench/"),
    "scripts": ("scripts/",),
    "examples": ("examples/",),
    "tests": ("conftest.py", "tests/", "engine/tests/"),
}  # fmt: skip
"""The folders (with a slash at the end) and files of each package; a file without a package fails the check."""
NOT_OURS = ("nightshift/server/static/vendor/",)
"""Third-party files, which are not counted."""
KINDS = {
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".sql": "sql", ".html": "templates", ".j2": "templates",
}  # fmt: skip
COLUMNS = (
    "code", "statements", "javascript", "sql", "templates", "files", "participles", "openers", "fillers",
)  # fmt: skip

IRREGULAR = frozenset({
    "begun", "bought", "bound", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "driven", "fallen",
    "forgotten", "found", "given", "gone", "got", "grown", "heard", "held", "hidden", "kept", "known", "laid", "left",
    "lent", "lost", "made", "meant", "met", "paid", "proven", "said", "seen", "sent", "shown", "sold", "spent",
    "spoken", "taken", "taught", "thought", "thrown", "told", "torn", "understood", "undone", "won", "written",
})  # fmt: skip
"""Participles that do not end in -ed."""
VERBS_IN_ED = frozenset({
    "embed", "exceed", "feed", "need", "proceed", "read", "seed", "shed", "speed", "spread", "succeed",
})  # fmt: skip
"""Verbs whose base form looks like a participle."""
OPENER = re.compile(r"(What|Who|Which|Where)(ever)?\b")
FILLERS = frozenset({
    "found", "kept", "known", "made", "one", "place", "plain", "said", "thing", "told", "whole",
})  # fmt: skip

Sizes = dict[str, dict[str, int]]
"""Numbers by package and column."""


def is_participle(name: str) -> bool:
    """Check whether a function's name begins with a participle."""
    word = name.strip("_").partition("_")[0]
    return word in IRREGULAR or (word.endswith("ed") and word not in VERBS_IN_ED)


@dataclass
class ModuleCount(ast.NodeVisitor):
    """Counts the parts of one Python module: call `visit` with the module's tree, then read the fields."""

    statements: int = 0
    participles: int = 0
    openers: int = 0
    fillers: int = 0
    docstring_lines: set[int] = field(default_factory=set)
    text_lines: set[int] = field(default_factory=set)
    """The lines of multi-line strings, in which a `#` begins no comment."""

    def visit_body(self, body: Sequence[ast.stmt], docstrings_of: tuple[type[ast.stmt], ...] = ()) -> None:
        """Count the statements of a body.

        A string at the start of the body, or after a statement of a type in `docstrings_of`, is a docstring.
        """
        for number, statement in enumerate(body):
            has_docstring = number == 0 or isinstance(body[number - 1], docstrings_of)
            if has_docstring and isinstance(statement, ast.Expr) and is_text(statement.value):
                self.docstring(statement)
            else:
                self.visit(statement)

    def docstring(self, statement: ast.Expr) -> None:
        """Count a docstring."""
        self.docstring_lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        assert isinstance(statement.value, ast.Constant)
        self.openers += bool(OPENER.match(str(statement.value.value).strip()))

    def generic_visit(self, node: ast.AST) -> None:
        """Count a node and its children."""
        self.statements += isinstance(node, ast.stmt)
        super().generic_visit(node)

    def visit_Module(self, node: ast.Module) -> None:
        """Count the statements of the module."""
        self.visit_body(node.body, (ast.Assign, ast.AnnAssign))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Count a class and its statements."""
        self.statements += 1
        self.name(node.name)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self.visit_body(node.body, (ast.Assign, ast.AnnAssign))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Count a function, its name and its statements."""
        self.statements += 1
        self.name(node.name)
        is_property = any(ast.unparse(each).endswith(("property", ".setter")) for each in node.decorator_list)
        self.participles += not is_property and is_participle(node.name)
        for part in (*node.decorator_list, node.args, *([node.returns] if node.returns else ())):
            self.visit(part)
        self.visit_body(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name that `ast` calls

    def visit_Name(self, node: ast.Name) -> None:
        """Count a bound name."""
        if isinstance(node.ctx, ast.Store):
            self.name(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Count an assigned attribute."""
        if isinstance(node.ctx, ast.Store):
            self.name(node.attr)
        self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Count a parameter."""
        self.name(node.arg)
        if node.annotation:
            self.visit(node.annotation)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Record the lines of a string."""
        if isinstance(node.value, str | bytes) and node.end_lineno != node.lineno:
            self.text_lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Record the lines of an f-string, and count its content."""
        if node.end_lineno != node.lineno:
            self.text_lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        self.generic_visit(node)

    def name(self, name: str) -> None:
        """Count a bound name."""
        self.fillers += name.strip("_") in FILLERS


def is_text(node: ast.AST) -> bool:
    """Check whether an expression is just a string."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def count_python(text: str) -> dict[str, int]:
    """Measure a Python module; return each number under the name of its column in size.toml."""
    count = ModuleCount()
    count.visit(ast.parse(text))
    code = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if number in count.text_lines or (line.strip() and not line.lstrip().startswith("#"))
    }
    return {
        "code": len(code - count.docstring_lines),
        "statements": count.statements,
        "participles": count.participles,
        "openers": count.openers,
        "fillers": count.fillers,
    }


def package_of(file: str) -> str | None:
    """Return the package of a tracked file by its path; None if the file belongs to no package."""
    for package, parts in PACKAGES.items():
        if any(file == part or (part.endswith("/") and file.startswith(part)) for part in parts):
            return package
    return None


def count_all() -> Sizes:
    """Count all tracked files.

    Raises:
        SystemExit: a file belongs to no package.
    """
    sizes = {package: dict.fromkeys(COLUMNS, 0) for package in PACKAGES}
    for file in list_tracked_files():
        path = ROOT / file
        kind = KINDS.get(path.suffix)
        if (path.suffix != ".py" and kind is None) or file.startswith(NOT_OURS) or not path.exists():
            continue
        package = package_of(file)
        if package is None:
            raise SystemExit(f"{file} belongs to no package: name it in PACKAGES of scripts/size.py")
        text = path.read_text()
        numbers = {kind: sum(bool(line.strip()) for line in text.splitlines())} if kind else count_python(text)
        for column, number in {**numbers, "files": 1}.items():
            sizes[package][column] += number
    return sizes


def list_tracked_files() -> list[str]:
    """List the files that git tracks, with `/` as the separator."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [file for file in listed.stdout.split("\0") if file]


@dataclass(frozen=True)
class Raised:
    """An allowed rise of a number, as stored in the table."""

    what: str
    before: int
    after: int
    because: str


def read_table() -> tuple[Sizes, list[Raised]]:
    """Read the table and the allowed rises; empty if there is no table yet."""
    data = tomllib.loads(TABLE.read_text()) if TABLE.exists() else {}
    raised = [Raised(**each) for each in data.pop("raised", [])]
    return data, raised


def write_table(sizes: Sizes, raised: Iterable[Raised]) -> None:
    """Write the table and the allowed rises, with one line per number, so that a diff is easy to read."""
    lines = ["# The sizes that `python scripts/size.py --check` allows. Change it by `--write`; see `--help`."]
    for package, numbers in sizes.items():
        lines += ["", f"[{package}]", *(f"{column} = {numbers[column]}" for column in COLUMNS)]
    for each in raised:
        rise = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in asdict(each).items())
        lines += ["", "[[raised]]", *rise]  # a JSON string is also a TOML string
    TABLE.write_text("\n".join(lines) + "\n")


def find_rises(allowed: Sizes, sizes: Sizes) -> Iterator[tuple[str, int, int]]:
    """Yield each `PACKAGE.COLUMN` above its allowed number, with that number and today's."""
    for package, numbers in sizes.items():
        for column, number in numbers.items():
            before = allowed.get(package, {}).get(column, 0)
            if number > before:
                yield f"{package}.{column}", before, number


def check() -> int:
    """Print the numbers that rose; return the exit code."""
    allowed, _ = read_table()
    rises = list(find_rises(allowed, count_all()))
    for what, before, now in rises:
        print(f"{what} rose from {before} to {now}", file=sys.stderr)
    if rises:
        advice = 'make it smaller, or state the reason: scripts/size.py --write --raise PACKAGE.COLUMN --because "…"'
        print(f"Above {TABLE.name}: {advice}", file=sys.stderr)
    return int(bool(rises))


def write(may_rise: Sequence[str], because: str) -> int:
    """Lower the table's numbers to today's, and raise the named numbers; return the exit code.

    Without a table all numbers are new.
    """
    is_first = not TABLE.exists()
    (allowed, raised), sizes = read_table(), count_all()
    rises = {} if is_first else {what: (before, now) for what, before, now in find_rises(allowed, sizes)}
    if unknown := [name for name in may_rise if not any(matches(what, name) for what in rises)]:
        print(f"--raise: {', '.join(unknown)} did not rise", file=sys.stderr)
        return 2
    if refused := [what for what in rises if not any(matches(what, name) for name in may_rise)]:
        lines = [f"{what} rose from {rises[what][0]} to {rises[what][1]}; nothing was written" for what in refused]
        print("\n".join(lines), file=sys.stderr)
        return 1
    write_table(sizes, [*raised, *(Raised(what, *numbers, because) for what, numbers in rises.items())])
    return 0


def matches(what: str, name: str) -> bool:
    """Check whether a name given to `--raise` is this `PACKAGE.COLUMN` or its package."""
    return what == name or what.partition(".")[0] == name


def show() -> int:
    """Print the sizes; return the exit code."""
    sizes = count_all()
    total = {column: sum(numbers[column] for numbers in sizes.values()) for column in COLUMNS}
    print(f"{'package':12}" + "".join(f"{column:>12}" for column in COLUMNS))
    for package, numbers in [*sizes.items(), ("all", total)]:
        print(f"{package:12}" + "".join(f"{numbers[column]:12}" for column in COLUMNS))
    return 0


def main() -> int:
    """Parse the command line, and print, check or write the sizes; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--raise", dest="may_rise", action="append", default=[], metavar="PACKAGE.COLUMN")
    parser.add_argument("--because", default="", metavar="REASON")
    asked = parser.parse_args()
    if bool(asked.may_rise) != bool(asked.because.strip()) or (asked.may_rise and not asked.write):
        parser.error("--raise goes with --write and --because")
    if asked.write:
        return write(asked.may_rise, asked.because.strip())
    return check() if asked.check else show()


if __name__ == "__main__":
    sys.exit(main())
