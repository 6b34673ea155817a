"""Tasks for a real model: the tasks of HumanEval with their tests, and tasks of our own with hidden tests.

HumanEval is by OpenAI ("Evaluating Large Language Models Trained on Code", 2021; MIT, `data/HumanEval.LICENSE`). A task
of HumanEval gives a signature with a docstring; the function is to be written into a file of its own.
"""

from __future__ import annotations

import ast
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

DATA = Path(__file__).resolve().parent / "data"
RUN_S = 300
"""Timeout in seconds for the tests of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One task for a real model.

    `answer` is the file to write. `files` are the files that exist at the start. `tests` come with the task.
    `hidden_tests` judge the answer and are not shown to the model.
    """

    id: str
    description: str
    answer: str
    language: str = "python"
    files: Mapping[str, str] = field(default_factory=dict)
    tests: Mapping[str, str] = field(default_factory=dict)
    hidden_tests: Mapping[str, str] = field(default_factory=dict)

    @property
    def judges(self) -> Mapping[str, str]:
        """The tests that decide whether an answer is right."""
        return self.hidden_tests or self.tests


def read_items(words: str) -> list[Item]:
    """Read the items that a comma-separated list names, such as `humaneval:60-99,own:edit`."""
    items = list[Item]()
    for word in words.split(","):
        name, _, part = word.partition(":")
        if name == "humaneval":
            first, _, last = part.partition("-")
            items += read_humaneval()[int(first or 0) : int(last or first or 163) + 1]
        elif name == "own":
            items += [item for item in read_own() if part in item.id]
        else:
            raise SystemExit(f"--items: {word!r} is neither humaneval:FIRST-LAST nor own")
    return items


def read_own() -> list[Item]:
    """Read the tasks of our own."""
    rows = yaml.safe_load((DATA / "own_items.yaml").read_text(encoding="utf-8"))
    return [Item(**{name: value for name, value in row.items() if name != "reference"}) for row in rows]


def read_humaneval() -> list[Item]:
    """Read all 164 tasks of HumanEval."""
    with gzip.open(DATA / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        return [_as_item(json.loads(line)) for line in file]


def _as_item(row: Mapping[str, str]) -> Item:
    name = row["entry_point"]
    tree = ast.parse(row["test"])
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    solution = ast.parse(row["prompt"] + row["canonical_solution"]).body
    helpers = [node.name for node in solution if isinstance(node, ast.FunctionDef) and node.name in used - {name}]
    names = ", ".join([name, *helpers])
    # Three tasks have the name of a module that is in the standard library or that tests import.
    module = f"{name}_task" if name in sys.stdlib_module_names else name
    checks = "\n\n\n".join(ast.unparse(node) for node in tree.body if isinstance(node, ast.FunctionDef))
    imports = "\n".join(ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    head = "\n".join(filter(None, (imports, f"from {module} import {names}")))
    description = (
        f"Write the Python function `{name}` in a new file `{module}.py`. It has to do what this signature and "
        f"docstring say:\n\n```python\n{row['prompt'].strip()}\n```\n\nThe tests do `from {module} import {names}`.\n"
    )
    test = f"{head}\n\n\n{checks}\n\n\ndef test_{name}():\n    check({name})\n"
    return Item(
        id=f"humaneval-{int(row['task_id'].split('/')[1]):03d}",
        description=description,
        answer=f"{module}.py",
        tests={f"test_{module}.py": test},
    )


def passes(item: Item, files: Mapping[str, str]) -> bool:
    """Run the judging tests of an item on an answer, without a daemon; return whether they pass."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**item.files, **files, **item.judges}.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        python = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        program = ["node", "--test"] if item.language == "javascript" else python
        command = [*program, *item.judges]
        try:
            return subprocess.run(command, cwd=folder, capture_output=True, timeout=RUN_S, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False
