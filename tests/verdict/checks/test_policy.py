"""Effects of a finding, as the defaults, the task and the owner's settings define them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.errors import ConfigError
from nightshift.core.tasks.change_checks import Severity
from nightshift.core.tasks.task import Kind, TaskSpec
from nightshift.verdict.checks.catalogue import RULES, Finding
from nightshift.verdict.checks.policy import Policy, unknown

USUAL = Policy()


def severity(
    rule: str, policy: Policy = USUAL, *, is_test: bool = False, text: str = "Write it", **fields: object
) -> Severity | None:
    spec = TaskSpec(description=text, **fields)  # type: ignore[arg-type]
    return policy.severity(Finding(rule, 1, ""), spec, is_test=is_test)


def test_the_kind_of_a_task_eases_what_it_needs() -> None:
    assert severity("python.subprocess", kind=Kind.LIBRARY) is Severity.ASK
    assert severity("python.subprocess", kind=Kind.CLI_TOOL) is Severity.NOTE
    assert severity("python.os-exec", kind=Kind.WEB_APP) is Severity.BLOCK


def test_what_the_owner_asks_for_in_words_is_eased() -> None:
    for rule, text in (
        ("python.subprocess", "Run a command with a time-out"), ("python.socket", "Find a free TCP port"),
        ("js.child-process", "Start an external program"),
    ):  # fmt: skip
        assert severity(rule) is RULES[rule].severity
        assert severity(rule, text=text) is Severity.NOTE


def test_tests_may_do_what_tests_do() -> None:
    assert severity("python.subprocess", is_test=True) is None
    assert severity("python.socket", is_test=True) is Severity.NOTE
    assert severity("python.hard-exit", is_test=True) is Severity.BLOCK
    assert severity("command.rm-outside", is_test=True) is Severity.BLOCK


def test_a_task_allows_rules_by_name_or_group() -> None:
    assert severity("python.eval", allow=("python.eval",)) is None
    assert severity("python.eval", allow=("python",)) is None
    assert severity("python.eval", allow=("python.ev",)) is Severity.BLOCK
    assert severity("command.sudo", allow=("command",)) is None


def test_settings_overrule_defaults_and_easing_and_the_longest_name_decides() -> None:
    policy = Policy.read(
        {"python": "note", "python.eval": "block", "bandit": "off", "python.subprocess": "block"}, {}, []
    )
    assert severity("python.eval", policy) is Severity.BLOCK
    assert severity("python.pickle", policy) is Severity.NOTE
    assert severity("python.subprocess", policy, kind=Kind.CLI_TOOL) is Severity.BLOCK
    assert severity("bandit.B602", policy) is None
    assert severity("python.eval", policy, allow=("python.eval",)) is None


def test_a_repository_allows_rules_for_its_tasks(tmp_path: Path) -> None:
    policy = Policy.read({}, {str(tmp_path): ["python.socket", "command.remote"]}, [])
    widened = policy.widened(TaskSpec(description="x", repo=f"{tmp_path}/../{tmp_path.name}", allow=("js",)))
    assert widened.allow == ("js", "python.socket", "command.remote")
    other = TaskSpec(description="x", repo=str(tmp_path / "other"))
    assert policy.widened(other) == other


def test_rules_that_do_not_exist_are_all_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        Policy.read({"python.evil": "off", "bandit.B602": "off"}, {"/x": ["js.netwrok"]}, ["terraform apply *"])
    assert caught.value.faults == (
        "checker_rules: there is no rule python.evil; did you mean python.eval?",
        "checker_allow: /x: there is no rule js.netwrok; did you mean js.network?",
    )
    with pytest.raises(ConfigError, match="does not name a program"):
        Policy.read({}, {}, ["*"])
    Policy.read({"command.own.terraform-apply": "off"}, {}, ["terraform apply *"])


def test_a_rule_without_its_group_is_known_again() -> None:
    assert unknown("eval", RULES) == "there is no rule eval; did you mean python.eval or js.eval?"
