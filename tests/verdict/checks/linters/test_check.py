"""Real linters in the real sandbox, on trees with findings: a finding counts only if the change adds it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import RUN_LIMITS
from nightshift.core.tasks.change_checks import ChangeCheckJob, Finding, Severity
from nightshift.core.tasks.task import Lint, TaskSpec
from nightshift.verdict.checks.linters.check import MOST, Fetch, LinterCheck
from nightshift.verdict.checks.policy import Policy
from nightshift.verdict.environments.layers import LayerStore
from nightshift.verdict.shell import ShellRunner
from tests.support.sandboxes import bubblewrap, open_folder, runtime
from tests.support.trees import TextTree

RUFF = "[tool.ruff]\nline-length = 60\n[tool.ruff.lint]\nselect = ['E', 'F']\n"
LONG = "x" * 70
OLD = f"import os\n\nOLD = '{LONG}'\n"


class Bench:
    """The linter check in the strong sandbox, with packages from the index."""

    def __init__(self, folder: Path) -> None:
        self.layers = LayerStore(folder / "packages", runtime(), environ=os.environ)
        self.shell = ShellRunner(bubblewrap(), runtime(), folder / "staging", layers=self.layers)
        self.check = self.make_check()

    def make_check(self, fetch: Fetch | None = None, **rules: str) -> LinterCheck:
        policy = Policy.read({name.replace("__", "."): level for name, level in rules.items()}, {}, [])
        return LinterCheck(self.shell, policy, limits=RUN_LIMITS, fetch=fetch or self.fetch)

    async def fetch(self, requirement: str) -> Mapping[str, str]:
        return (await self.layers.satisfy([requirement])).packages

    async def __call__(
        self, base: Mapping[str, str], change: Mapping[str, str | None], check: LinterCheck | None = None, **spec: Any
    ) -> tuple[Finding, ...]:
        own, lint = spec.pop("own", {}), spec.pop("lint", Lint.REQUIRED)
        task = TaskSpec(description="x", lint=lint, **spec)
        job = ChangeCheckJob(spec=task, tree=TextTree(base), change=change, own=own)
        return (await (check or self.check).examine(job)).findings


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_folder() as folder:
        yield Bench(folder)


def describe(findings: tuple[Finding, ...]) -> list[tuple[str, str, int, str]]:
    return [(each.rule, each.path, each.line, each.severity.value) for each in findings]


async def test_what_a_change_brings_goes_back_and_what_was_there_does_not(bench: Bench) -> None:
    base = {"pyproject.toml": RUFF, "a.py": OLD, "b.py": OLD}
    findings = await bench(base, {"a.py": f"{OLD}NEW = '{LONG}'\n", "c.py": "import sys\n"})
    assert describe(findings) == [("ruff.E501", "a.py", 4, "block"), ("ruff.F401", "c.py", 1, "block")]
    assert "`sys` imported but unused" in findings[1].message
    assert await bench(base, {"a.py": f"{OLD}NEW = 1\n"}) == ()


async def test_a_line_that_moved_or_was_touched_is_no_new_finding(bench: Bench) -> None:
    base = {"pyproject.toml": RUFF, "a.py": OLD}
    assert await bench(base, {"a.py": "# moved\n\n" + OLD}) == ()
    assert await bench(base, {"a.py": OLD.replace("OLD =", "ODD =")}) == ()


async def test_findings_are_notes_unless_the_repository_or_the_task_requires_them(bench: Bench) -> None:
    base, change = {"pyproject.toml": RUFF}, {"a.py": f"import os\n\nA = '{LONG}'\n"}
    (finding,) = await bench(base, change, lint=None)
    assert (finding.rule, finding.severity) == ("linter.ruff", Severity.NOTE)
    assert "2 findings in lines of the change, the first in a.py:1: F401" in finding.message
    assert [each.severity for each in await bench(base, change, lint=Lint.NOTED)] == [Severity.NOTE]


async def test_without_a_linter_in_the_repository_nothing_is_found(bench: Bench) -> None:
    assert await bench({"a.py": OLD}, {"a.py": OLD + "import sys\n"}) == ()
    assert await bench({"pyproject.toml": RUFF}, {"README.md": "x\n", "gone.py": None}) == ()


async def test_a_change_is_not_held_against_what_it_says_of_itself(bench: Bench) -> None:
    base = {"pyproject.toml": RUFF, "pkg/a.py": "A = 1\n"}
    lax = {"pyproject.toml": "[tool.ruff.lint]\nselect = []\n", "pkg/ruff.toml": "line-length = 200\n"}
    findings = await bench(base, {**lax, "pkg/a.py": f"A = '{LONG}'\n"})
    assert describe(findings) == [("ruff.E501", "pkg/a.py", 1, "block")]


async def test_files_of_the_owner_are_not_held_against_the_change(bench: Bench) -> None:
    base, given = {"pyproject.toml": RUFF}, {"g.py": "import sys\n"}
    assert await bench(base, given, files=given) == ()
    changed = await bench(base, {"g.py": "import sys\nimport os\n"}, files=given)
    assert describe(changed) == [("ruff.F401", "g.py", 2, "block")]


async def test_how_a_test_is_laid_out_is_a_note_unless_the_owners_settings_name_the_rule(bench: Bench) -> None:
    base, laid_out = {"pyproject.toml": RUFF}, f"import os\n\nf = lambda: '{LONG}'\n"
    findings = await bench(base, {"a.py": "import os\n", "tests/helpers.py": laid_out}, own={"test_a.py": laid_out})
    assert describe(findings) == [("ruff.F401", "a.py", 1, "block"), ("linter.ruff", "", 0, "note")]
    assert "6 findings in the tests of the change, the first in test_a.py:1: F401" in findings[1].message
    strict = await bench(base, {}, bench.make_check(ruff__E501="block"), own={"test_a.py": laid_out})
    assert describe(strict) == [("ruff.E501", "test_a.py", 3, "block"), ("linter.ruff", "", 0, "note")]


async def test_types_are_checked_with_the_settings_of_the_repository(bench: Bench) -> None:
    typed = "def f(x: int) -> int:\n    return x\n"
    base = {"mypy.ini": "[mypy]\nstrict = true\n", "a.py": typed, "b.py": "from a import f\n\nB = f(1)\n"}
    findings = await bench(base, {"c.py": "from a import f\n\n\ndef g(y):\n    return f('1')\n"})
    assert describe(findings) == [("mypy.no-untyped-def", "c.py", 4, "block"), ("mypy.arg-type", "c.py", 5, "block")]
    assert "incompatible type" in findings[1].message
    assert await bench(base, {"c.py": "from a import f\n\nC: int = f(2)\n"}) == ()


async def test_what_a_change_breaks_in_another_file_is_noted(bench: Bench) -> None:
    base = {
        "mypy.ini": "[mypy]\nfiles = .\n", "a.py": "def f(x: int) -> int:\n    return x\n",
        "b.py": "from a import f\n\nB = f(1)\n",
    }  # fmt: skip
    (finding,) = await bench(base, {"a.py": "def f(x: str) -> str:\n    return x\n"})
    assert (finding.rule, finding.severity) == ("linter.mypy", Severity.NOTE)
    assert "b.py:3: arg-type" in finding.message


async def test_modules_that_are_not_there_are_the_environments_business(bench: Bench) -> None:
    base = {"mypy.ini": "[mypy]\nstrict = true\n", "a.py": ""}
    change = {"a.py": "from nowhere import Base\n\n\nclass A(Base):\n    pass\n"}
    assert await bench(base, change) == ()


async def test_rules_are_eased_by_the_task_and_by_the_owner(bench: Bench) -> None:
    base, change = {"pyproject.toml": RUFF}, {"a.py": f"import os\nA = '{LONG}'\n"}
    assert [each.rule for each in await bench(base, change, allow=("ruff.E501",))] == ["ruff.F401"]
    assert await bench(base, change, allow=("ruff",)) == ()
    eased = await bench(base, change, bench.make_check(ruff__E501="note", ruff__F401="off"))
    assert describe(eased) == [("linter.ruff", "", 0, "note")]
    assert "1 finding in lines of the change, the first in a.py:2: E501" in eased[0].message


async def test_a_linter_that_does_not_start_is_a_note(bench: Bench) -> None:
    broken = await bench({"pyproject.toml": "[tool.ruff]\nline-length = 'long'\n"}, {"a.py": "import os\n"})
    assert describe(broken) == [("linter.ruff", "", 0, "note")]
    assert "exit code 2" in broken[0].message
    missing = await bench({"eslint.config.js": "export default [];\n"}, {"a.js": "var a;\n"})
    assert describe(missing) == [("linter.eslint", "", 0, "note")]
    assert "not in the environment" in missing[0].message


async def test_what_cannot_be_fetched_is_a_note_and_is_asked_for_once_in_a_while(bench: Bench) -> None:
    asked = list[str]()

    async def away(requirement: str) -> Mapping[str, str]:
        asked.append(requirement)
        raise SandboxError("the package index does not answer")

    check = bench.make_check(fetch=away)
    hooks = "repos:\n- repo: x\n  rev: v0.1.2\n  hooks: [{id: ruff}]\n"
    for name in ("a.py", "b.py"):
        findings = await bench({".pre-commit-config.yaml": hooks}, {name: "import os\n"}, check)
        assert describe(findings) == [("linter.ruff", "", 0, "note")]
    assert asked == ["ruff==0.1.2"]


async def test_a_plugin_of_the_repository_runs_in_the_sandbox_alone(bench: Bench, tmp_path: Path) -> None:
    plugin = f"import os\nopen({str(tmp_path / 'ran')!r}, 'w')\n"
    base = {"mypy.ini": "[mypy]\nplugins = evil.py\n", "evil.py": plugin, "a.py": ""}
    findings = await bench(base, {"a.py": "A: int = ''\n"})
    assert [each.severity for each in findings] == [Severity.NOTE]
    assert not (tmp_path / "ran").exists()


async def test_findings_are_few_and_say_how_many_more_there_are(bench: Bench) -> None:
    findings = await bench({"pyproject.toml": RUFF}, {"a.py": "".join(f"import m{n}\n" for n in range(30))})
    assert len(findings) == MOST
    assert findings[-1].message.endswith("(and 20 more findings of linters)")
