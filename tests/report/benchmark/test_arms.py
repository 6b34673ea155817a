"""Benchmark arms as an owner writes them, and the settings of each arm."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.core.errors import BenchmarkError
from nightshift.core.tasks.benchmark_results import Arm
from nightshift.report.benchmark.arms import from_file, of_models, settings_of
from tests.support.benchmarks import arm


def test_each_model_that_is_named_is_an_arm_of_its_own_name() -> None:
    first, second = of_models(["openai=qwen3:8b/x", "built-in"])
    assert (first.name, first.backend, first.model) == ("qwen3-8b-x", "openai", "qwen3:8b/x")
    assert (second.name, second.backend, second.model) == ("built-in", "repair", "")


def test_a_file_says_what_is_different_about_each_arm(tmp_path: Path) -> None:
    path = tmp_path / "arms.yaml"
    path.write_text(
        "- {name: a, model: ollama=q, protocol: edit, tools: on, memory: true}\n- {name: b, model: repair}\n"
    )
    assert from_file(path)[0] == Arm(
        name="a", backend="ollama", model="q", protocol="edit", tools=True, readers=False, memory=True
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {name: a, model: built-in}\n- {name: a, model: o=q}", "2 arms are called a"),
        ("- {name: a, model: o=q, tool: on}", "tool"),
        ("- {name: ../a, model: o=q}", "name"),
        ("{", "cannot be read"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_field(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "arms.yaml"
    path.write_text(text)
    with pytest.raises(BenchmarkError, match=r"arms\.yaml|backend=model|are called") as refused:
        from_file(path)
    assert message in str(refused.value)


def test_the_settings_of_an_arm_are_sound_and_leave_no_other_model_to_help(tmp_path: Path) -> None:
    places = find_places(tmp_path)
    for tested_arm in (arm("a", "openai", "m", tools=True, readers=True, memory=True), arm("b", "repair", "")):
        own = settings_of(tested_arm, 3, 0.5)
        read = settings_at(places, own.flags).model_copy(update=dict(own.unset))
        assert (read.model_type, read.phase_models, read.repair_first_s, read.git_auto_push) == (
            tested_arm.backend,
            {},
            0,
            False,
        )
        assert (read.recall_limit > 0, read.enable_review, read.explore) == (
            tested_arm.memory, tested_arm.readers, "on" if tested_arm.tools else "off",
        )  # fmt: skip
        assert (read.task_cost_usd, read.day_cost_usd) == (0.5, None)
