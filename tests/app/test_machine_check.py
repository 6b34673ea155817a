"""Tasks that this machine cannot do are refused before they are queued.

The tests use real settings and a real repository.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.app.submission import MachineCheck, machine_check
from nightshift.config.load import load_settings
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.task import TaskSpec
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.git_repo import make_repo


@pytest.fixture
def check(tmp_path: Path) -> MachineCheck:
    (tmp_path / "config.yaml").write_text(
        f"blocked_commands: [terraform apply *]\nchecker_allow: {{{tmp_path}/scanner: [command.remote]}}\n"
    )
    return machine_check(load_settings(home=tmp_path))


def faults(check: MachineCheck, **fields: object) -> dict[str, str]:
    try:
        check(TaskSpec(description="x", **fields))  # type: ignore[arg-type]
    except InvalidTask as invalid:
        return dict(invalid.fields)
    return {}


def test_a_rule_that_does_not_exist_is_refused_with_the_nearest(check: MachineCheck) -> None:
    assert faults(check, allow=("python.socket", "subprocess")) == {
        "allow.1": "there is no rule subprocess; did you mean python.subprocess?"
    }


def test_a_command_that_never_runs_is_refused_with_what_allows_it(check: MachineCheck) -> None:
    refusals = faults(check, test_command=("terraform", "apply", "-auto-approve"))
    assert "`allow: [command.own.terraform-apply]`" in refusals["test_command"]
    assert faults(check, test_command=("ssh", "host", "true"))["test_command"].startswith("never runs: command.remote")


def test_a_repository_allows_commands_for_its_tasks(check: MachineCheck, tmp_path: Path) -> None:
    repo = str(make_repo(tmp_path / "scanner"))
    assert "command.remote" not in str(faults(check, repo=repo, test_command=("ssh", "host", "true")))


def test_a_program_that_the_sandbox_will_never_have_is_refused(check: MachineCheck) -> None:
    assert "did you mean make?" in faults(check, test_command=("mkae", "test"))["test_command"]
    assert 'sh -c "…"' in faults(check, test_command=("zzqx-runner", "&&", "make"))["test_command"]


@pytest.mark.parametrize("command", [("python", "-m", "unittest"), ("uv", "run", "true"), ("./run.sh",)])
def test_programs_that_are_there_or_may_be_made_are_taken(check: MachineCheck, command: tuple[str, ...]) -> None:
    assert faults(check, test_command=command) == {}


def test_a_branch_that_a_task_before_will_make_is_waited_for(check: MachineCheck, tmp_path: Path) -> None:
    repo = str(make_repo(tmp_path / "shop"))
    assert list(faults(check, repo=repo, base="agent/3-shop")) == ["base"]
    assert faults(check, repo=repo, base="agent/3-shop", depends_on=(3,)) == {}


def test_a_refused_task_is_not_stored_and_a_known_one_not_looked_at_again(check: MachineCheck, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    with Database(tmp_path / "db.sqlite") as database:
        queue = QueueManager(database, EventLog(database), check_new=check)
        with pytest.raises(InvalidTask, match="repo: there is no folder /nope"):
            queue.submit(TaskSpec(description="x", repo="/nope")).result()
        assert queue.find() == []
        spec = TaskSpec(description="x", repo=str(repo), key="nightly")
        first = queue.submit(spec).result()
        repo.rename(tmp_path / "moved")
        assert queue.submit(spec).result().task_id == first.task_id
        with pytest.raises(InvalidTask, match="did you mean"):
            queue.submit(TaskSpec(description="x", repo=str(tmp_path / "move"))).result()


def test_labels_that_this_machine_lacks_are_refused_where_no_other_could_have_them(check: MachineCheck) -> None:
    spec = TaskSpec(description="x", needs=("gpu", "python"))
    replace(check, labels=None)(spec)
    with pytest.raises(InvalidTask) as refused:
        replace(check, labels=frozenset({"python"}))(spec)
    assert refused.value.fields.keys() == {"needs.0"}
    assert "belongs to no hub; it has python" in refused.value.fields["needs.0"]
