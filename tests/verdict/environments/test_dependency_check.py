from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.agent import change_check
from nightshift.core.errors import Parked, SandboxError
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.change_checks import ChangeCheckJob, ChangeCheckReport, Severity, package_subject
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.submission import parse_spec
from nightshift.verdict.environments.dependency_check import DependencyCheck
from nightshift.verdict.environments.layers import LayerStore
from tests.support.agent_parts import Bench, case_for, model_for
from tests.support.sandboxes import runtime
from tests.support.store import HandClock
from tests.support.trees import TextTree
from tests.support.wheelhouse import environ, source, wheel

USES = "import moonphase\n\n\ndef full():\n    return moonphase.FULL\n"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    wheel(folder, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"}, needs=("tidewave",))
    wheel(folder, "tidewave", "2.0", {"tidewave/__init__.py": "HIGH = 1\n"})
    wheel(folder, "PyYAML", "6.0", {"yaml.py": "A = 1\n"})
    return folder


@pytest.fixture
def events() -> list[Event]:
    return []


Make = Callable[..., DependencyCheck]


@pytest.fixture
def checker(folder: Path, index: Path, events: list[Event]) -> Make:
    def make(*allowed: str, where: Mapping[str, str] | None = None) -> DependencyCheck:
        layers = LayerStore(folder / "packages", runtime(), environ=where or environ(index))
        return DependencyCheck(layers, runtime(), allowed=allowed, emit=events.append, clock=HandClock())

    return make


def job(change: Mapping[str, str], base: Mapping[str, str] | None = None, **more: Any) -> ChangeCheckJob:
    about = {name: more.pop(name) for name in ("own", "granted", "denied") if name in more}
    spec = parse_spec({"description": "Tell the moon", **more})
    return ChangeCheckJob(spec=spec, tree=TextTree(base), change=change, task_id=7, **about)


def rules(report: ChangeCheckReport) -> list[tuple[str, str, int]]:
    return [(finding.rule, finding.path, finding.line) for finding in report.findings]


async def test_a_change_that_needs_nothing_passes_without_a_look_at_the_index(checker: Make) -> None:
    files = {"calc.py": "import json\nfrom helper import x\n", "helper.py": "import pytest, hypothesis\n"}
    report = await checker(where={"PIP_INDEX_URL": "http://127.0.0.1:9/"}).examine(job(files))
    assert report == ChangeCheckReport()


async def test_a_package_that_nobody_allowed_is_asked_for_with_all_that_matters(checker: Make) -> None:
    report = await checker().examine(job({"sky/moon.py": f"'''x'''\n{USES}"}))
    (ask,) = report.asks
    assert (ask.subject, report.findings, dict(report.packages)) == ("package:moonphase", (), {})
    for part in ("sky/moon.py:2", "imports moonphase", "installs the wheel", "run in the sandbox", "moonphase 1.0"):
        assert part in ask.question
    assert "What moonphase is for" in ask.question
    assert "typing error" in ask.question, "no table knows it"


@pytest.mark.parametrize("how", ["setting", "granted"])
async def test_what_the_owner_allows_is_installed_with_what_it_depends_on(
    checker: Make, events: list[Event], how: str
) -> None:
    allowed = checker("Moonphase") if how == "setting" else checker()
    asked = job({"moon.py": USES}, granted=frozenset({"package:moonphase"} if how == "granted" else ()))
    report = await allowed.examine(asked)
    line = "Moonphase==1.0\n" if how == "setting" else "moonphase==1.0\n"
    packages = {"moonphase": "1.0", "tidewave": "2.0"}
    assert report == ChangeCheckReport(packages=packages, declares={"requirements.txt": line})
    (event,) = events
    assert (event.kind, event.task_id, event.message) == (Kind.PACKAGE_INSTALLED, 7, "moonphase 1.0, tidewave 2.0")
    assert event.data["packages"]["tidewave"][1].startswith("sha256:")
    assert await allowed.examine(asked) == report
    assert len(events) == 1, "what is there is not installed again"


@pytest.mark.parametrize("how", ["task", "approved for its project", "declared"])
async def test_what_no_file_imports_is_installed_as_well(checker: Make, how: str) -> None:
    yes = {package_subject("PyYAML"): True}
    context = case_for(packages=["PyYAML"] if how == "task" else [])
    if how == "declared":
        context = replace(context, granted=frozenset(yes))
    elif how == "approved for its project":
        context = replace(context, decided={"sky": yes, "other": {"package:tidewave": True}})
    context = context.within("sky")
    lists = {"requirements.txt": "pytest\nPyYAML>=0\n"} if how == "declared" else {}
    tools = Bench(model_for(), base={}, change_checks=[checker()]).tools
    state = AttemptState(phase=Phase.TESTING, base="0" * 40, change={"sky.py": "X = 1\n", **lists}, project="sky")
    checked_state = (await change_check.check(context, state, tools)).state
    assert checked_state.packages.keys() == {"PyYAML"}
    assert "pyyaml" in str(checked_state.change["requirements.txt"]).lower()


OLD = "def show():\n    import moonphase\n    return moonphase.FULL\n"
SHOWN = {"show.py": OLD, "moon.py": "from show import show\n"}
YAML = {"test_moon.py": "import yaml\n"}
NEEDS = {
    "named by the change": ({"sky.py": "X = 1\n", "requirements.txt": "pytest\nmoonphase>=0\n"}, {}, {}, "moonphase"),
    "tools named by the change": ({"requirements-dev.txt": "black\nmypy==1\npytest\n", "calc.py": ""}, {}, {}, ""),
    "of the owner's tests": ({"moon.py": "X = 1\n"}, {}, {"tests": YAML}, "pyyaml"),
    "awaited by the owner's tests": ({"moon.py": "X = 1\n"}, {}, {"tests": {"test_a.py": "import tidewave\n"}}, ""),
    "of the agent's tests": ({"moon.py": "X = 1\n"}, {}, {"own": YAML}, "pyyaml"),
    "behind the change": ({"moon.py": "import old\n"}, {"old.py": "import yaml\n"}, {}, "pyyaml"),
    "old, within a function": ({"moon.py": "from show import show\nX = 1\n"}, SHOWN, {}, ""),
    "new, within a function": ({"new.py": OLD}, SHOWN, {}, "moonphase"),
    "declared": ({"moon.py": "from show import show\n"}, {**SHOWN, "requirements.txt": "moonphase\n"}, {}, "moonphase"),
}


@pytest.mark.parametrize(("change", "base", "more", "needed"), NEEDS.values(), ids=NEEDS)
async def test_what_a_run_needs_is_asked_for(
    checker: Make, change: dict[str, str], base: dict[str, str], more: dict[str, Any], needed: str
) -> None:
    report = await checker().examine(job(change, base, **more))
    assert [ask.subject for ask in report.asks] == ([f"package:{needed}"] if needed else [])


async def test_a_pin_of_the_owners_is_kept(checker: Make, index: Path) -> None:
    wheel(index, "moonphase", "1.5", {"moonphase.py": "FULL = 5\n"})
    assert (await checker("moonphase==1.0").examine(job({"moon.py": USES}))).packages["moonphase"] == "1.0"
    base = {"requirements.txt": "moonphase <1.5\n"}
    assert (await checker("moonphase").examine(job({"moon.py": USES}, base))).packages["moonphase"] == "1.0"
    loose = job({"moon.py": USES, "requirements.txt": "moonphase<1.5\n"})
    assert (await checker("moonphase").examine(loose)).packages == {"moonphase": "1.5"}, (
        "the model's own file says nothing"
    )


async def test_a_denial_goes_back_to_the_model_although_another_package_brings_the_same(checker: Make) -> None:
    asked = job({"moon.py": USES + "import tidewave\n"}, denied=frozenset({"package:tidewave"}))
    report = await checker("moonphase").examine(asked)
    assert rules(report) == [("package.denied", "moon.py", 6)]
    assert report.findings[0].severity is Severity.BLOCK
    assert "the owner denied the package tidewave; do not use this package" in report.findings[0].message
    behind = job({"moon.py": "import old\n"}, {"old.py": "import yaml\n"}, denied=frozenset({"package:pyyaml"}))
    findings = (await checker().examine(behind)).findings
    assert [finding.severity for finding in findings] == [Severity.NOTE], "the model cannot mend the base"


async def test_a_name_that_the_index_does_not_have_is_the_models_mistake(checker: Make, index: Path) -> None:
    source(index, "oldsource", "1.0", "raise SystemExit\n")
    report = await checker().examine(job({"moon.py": "import moonfase\nimport oldsource\nfrom google import cloud\n"}))
    assert report.asks == ()
    assert rules(report) == [
        ("package.unknown", "moon.py", 1), ("package.unknown", "moon.py", 2), ("package.unclear", "moon.py", 3),
    ]  # fmt: skip
    assert "the package index has no package moonfase" in report.findings[0].message
    assert "packages are never built from source" in report.findings[1].message


async def test_an_index_that_does_not_answer_parks_the_task_or_asks_without_it(checker: Make) -> None:
    away = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    with pytest.raises(Parked, match="does not answer") as caught:
        await checker("moonphase", where=away).examine(job({"moon.py": USES}))
    assert caught.value.until is not None
    (ask,) = (await checker(where=away).examine(job({"moon.py": USES}))).asks
    assert "The package index describes" not in ask.question


async def test_a_package_of_the_owners_that_cannot_be_had_ends_the_attempt(checker: Make) -> None:
    with pytest.raises(SandboxError, match="the package index has no package sunphase"):
        await checker().examine(job({"moon.py": "X = 1\n"}, packages=["sunphase"]))


async def test_scripts_have_no_packages(checker: Make) -> None:
    files = {
        "moon.mjs": "import fs from 'node:fs';\nimport path from 'path';\nimport './near.mjs';\n"
        "import x from '@scope/pkg/part';\nimport y from 'mine/part';\nconst z = require('leftpad');\n",
        "near.mjs": "import 'kept';\n",
        "package.json": '{"name": "mine"}',
        "node_modules/kept/index.js": "",
    }
    report = await checker().examine(job(files, language="javascript"))
    assert rules(report) == [("package.npm", "moon.mjs", 4), ("package.npm", "moon.mjs", 6)]
    assert await checker().examine(job(files)) == ChangeCheckReport(), "a page's scripts in a Python task are not run"


async def test_an_owner_s_repository_gets_a_line_only_in_the_file_that_it_has(checker: Make) -> None:
    about: dict[str, Any] = {"repo": "/home/me/sky", "packages": ["moonphase"]}
    declared = {"requirements.txt": "# of the sky\n", "lib/old.py": "import yaml\n"}
    report = await checker("PyYAML").examine(job({"sky.py": f"import lib.old\n{USES}"}, declared, **about))
    assert report.declares == {"requirements.txt": "# of the sky\nmoonphase==1.0\n"}, "the owner's imports are his"
    none = await checker().examine(job({"sky.py": USES}, **about))
    assert (dict(none.packages)["moonphase"], dict(none.declares)) == ("1.0", {})


async def test_what_runs_the_agent_s_tests_is_named_where_a_project_has_requirements(checker: Make) -> None:
    own = {"tests/test_moon.py": "import hypothesis\nimport pytest\n"}
    report = await checker().examine(job({"moon.py": "X = 1\n", "requirements.txt": "pytest\n"}, own=own))
    assert report.declares == {"requirements.txt": "pytest\nhypothesis\n"}
    assert (await checker().examine(job({"moon.py": "X = 1\n"}, own=own))).declares == {}


@pytest.mark.parametrize(
    ("base", "written", "named", "later", "end"),
    [
        ({}, {}, "moonphase==1.0\n", None, None),
        ({}, {"requirements.txt": "pytest\n"}, "pytest\nmoonphase==1.0\n", None, "pytest\n"),
        ({}, {}, "moonphase==1.0\n", "moonphase==0.9\n", "moonphase==0.9\n"),
        (
            {"requirements.txt": "moonphase\n"},
            {},
            "moonphase==1.0\n",
            "moonphase==1.0\npytest\n",
            "moonphase\npytest\n",
        ),
    ],
)
async def test_a_package_that_a_later_try_does_without_is_named_no_more(
    checker: Make, base: dict[str, str], written: dict[str, str], named: str, later: str | None, end: str | None
) -> None:
    """`later` is the content of the dependency file after the model has rewritten it."""
    tools = Bench(model_for(), base=base, change_checks=[checker("moonphase")]).tools
    context, path = case_for(whole_tree=False), next(iter(base), "requirements.txt")

    async def checked(state: AttemptState) -> AttemptState:
        return (await change_check.check(context, state, tools)).state

    begun = AttemptState(phase=Phase.TESTING, base="0" * 40, change={"moon.py": USES, **written})
    first = await checked(begun)
    assert first.change[path] == named
    again = await checked(replace(first, change={**first.change, "moon.py": f"# the moon\n{USES}"}))
    assert again.change[path] == named, "what is still needed stays"
    files = {**first.change, "moon.py": "FULL = 1\n", **({path: later} if later else {})}
    without = await checked(replace(first, change=files))
    assert dict(without.change) == {"moon.py": "FULL = 1\n"} | ({path: end} if end else {})
    assert not without.declared


async def test_packages_of_a_plan_are_asked_for_before_there_is_code(checker: Make) -> None:
    wanted = ("moonphase", "PyYAML", "json", "pytest", "tidewave", "no such")
    planned = replace(job({}, granted=frozenset({"package:tidewave"})), wanted=wanted)
    report = await checker("pyyaml").examine(planned)
    (ask,) = report.asks
    assert ask.subject == "package:moonphase"
    assert "The task's plan names this package." in ask.question
