"""Each finding of the doctor, caused by a real fault: broken files, damaged databases, a wrong clock, and so on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from nightshift.app.doctor import backends, machine, repositories, running
from nightshift.app.doctor.context import CheckContext, Finding, Grade, check_context
from nightshift.app.doctor.home import check_backups, check_database, check_home, check_settings
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.storage.db.backups import make
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support.git_repo import git, make_repo
from tests.support.home import Home
from tests.support.wire_server import WireServer


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Home:
    return Home(path=tmp_path / "home", capture=capsys)


@pytest.fixture
def used(home: Home) -> Home:
    """Make a home with a database that contains one task."""
    home.path.mkdir()
    assert home.cli("a task").code == 0
    return home


def look(findings: Iterable[Finding], what: str) -> Finding:
    """Run the doctor and return its only finding about a subject."""
    all_findings = list(findings)
    named = [each for each in all_findings if each.what == what]
    assert len(named) == 1, [(each.what, each.text) for each in all_findings]
    return named[0]


def graves(findings: Iterable[Finding]) -> dict[str, Grade]:
    return {each.what: each.grade for each in findings if each.grade in {Grade.WARNING, Grade.FAULT}}


def with_settings(of: Home, **values: object) -> CheckContext:
    whom = check_context(of.path)
    return replace(whom, settings=whom.settings.model_copy(update=values))


# Findings about the versions of programs and packages.


def test_packages_that_are_missing_or_too_old_are_named() -> None:
    text = "pydantic<1\nno-such-thing-as-this\nclick  # fine\nnone; sys_platform == 'plan9'\n\n-r more.txt\n"
    findings = list(machine.against(text))
    assert graves(findings) == {"pydantic": Grade.FAULT, "no-such-thing-as-this": Grade.FAULT}
    assert "make setup" in findings[0].mend
    assert look(machine.check_packages(check_context()), "packages").grade is Grade.OK


# Findings about the settings.


def test_broken_settings_are_faults_and_the_rest_is_looked_at_all_the_same(home: Home) -> None:
    home.path.mkdir()
    (home.path / "config.yaml").write_text("worker_cuont: 3\nflask_port: 99999\n")
    whom = check_context(home.path)
    findings = list(check_settings(whom))
    assert "worker_count" in look(findings, "config.yaml").text
    assert look(findings, "flask_port (FLASK_PORT)").grade is Grade.FAULT
    assert str(home.path / "config.yaml") in findings[0].mend
    assert whom.settings.db_path == home.path / "db" / "agent_logs.sqlite"
    (home.path / "config.yaml").write_text("a: [")
    assert graves(check_settings(check_context(home.path))) == {"config.yaml": Grade.FAULT}


def test_secrets_that_others_may_read_are_told_and_never_shown(home: Home) -> None:
    home.path.mkdir()
    secret = "sk-hidden-hidden-hidden"
    for name, text in (
        (".env", f"OPENAI_API_KEY={secret}\n"),
        ("config.yaml", f"api_token: {secret}\nworker_count: 5\n"),
    ):
        (home.path / name).write_text(text)
        (home.path / name).chmod(0o644)
    findings = list(check_settings(check_context(home.path)))
    assert graves(findings) == {".env": Grade.WARNING, "config.yaml": Grade.WARNING}
    assert f"chmod 600 {home.path / '.env'}" in look(findings, ".env").mend
    assert look(findings, "openai_api_key").grade is Grade.OK
    assert "worker_count" in look(findings, "settings").text
    assert secret not in str(findings)
    for name in (".env", "config.yaml"):
        (home.path / name).chmod(0o600)
    assert not graves(check_settings(check_context(home.path)))


# Findings about the home folder and the disk.


def test_files_that_only_the_owner_may_read(used: Home) -> None:
    state = used.path / "state"
    state.mkdir(exist_ok=True)
    for name in ("token", "seal"):
        (state / name).write_text("x")
        (state / name).chmod(0o640)
    database = used.path / "db" / "agent_logs.sqlite"
    database.chmod(0o666)
    findings = list(check_home(check_context(used.path)))
    assert graves(findings) == {"token": Grade.FAULT, "seal": Grade.FAULT, "database": Grade.FAULT}
    for path in (state / "token", state / "seal"):
        path.chmod(0o600)
    database.chmod(0o600)
    assert not graves(check_home(check_context(used.path)))


# Findings about the database.


def test_a_damaged_database_is_a_fault_with_the_way_out(used: Home) -> None:
    path = used.path / "db" / "agent_logs.sqlite"
    content = path.read_bytes()
    path.write_bytes(b"no database at all" * 500)
    findings = list(check_database(check_context(used.path)))
    assert {"schema", "quick check"} <= graves(findings).keys()
    assert "restores" in look(findings, "schema").mend
    middle = len(content) // 2
    path.write_bytes(content[:middle] + os.urandom(8192) + content[middle + 8192 :])
    assert graves(check_database(check_context(used.path))).get("quick check") is Grade.FAULT


def test_size_and_backups(used: Home) -> None:
    assert look(check_backups(check_context(used.path)), "backups").grade is Grade.NOTE
    whom = with_settings(used, database_max_mb=0)
    assert look(check_database(whom), "size").grade is Grade.WARNING
    now = datetime.now(UTC)
    new = make(whom.settings.db_path, whom.settings.backups_dir, now - timedelta(days=2), keep=4, daily=0)
    assert new is not None
    findings = list(check_backups(whom))
    assert look(findings, "backups").text == "1 kept, the newest 2 d ago"
    assert look(findings, "newest backup").grade is Grade.OK
    with InstanceLock(whom.settings.lock_file):
        assert look(check_backups(whom), "backups").grade is Grade.OK, "nothing was done since"
        with Database(whom.settings.db_path) as db:
            EventLog(db).emit(Event(kind=Kind.LESSON_RETIRED, message=""))
        assert look(check_backups(whom), "backups").grade is Grade.WARNING
    assert new
    new.chmod(0o600)
    new.write_bytes(b"torn" * 4096)
    assert look(check_backups(whom), "newest backup").grade is Grade.FAULT


# Findings about the daemon.


def test_a_daemon_that_answers_tells_what_holds_it(home: Home) -> None:
    home.path.mkdir()
    with home.daemon() as context:
        context.queue.add_pause(PauseSource.OWNER, "holiday").result()
        findings = list(running.check_daemon(check_context(home.path)))
    assert not graves(findings)
    assert f"process {os.getpid()}" in look(findings, "daemon").text
    assert "late" in look(findings, "health").text
    held = look(findings, "hold")
    assert "holiday" in held.text
    assert held.mend.startswith("it continues ")


def test_a_lock_without_an_answer_is_a_fault(home: Home) -> None:
    whom = check_context(home.path)
    home.path.mkdir()
    with InstanceLock(whom.settings.lock_file):
        whom.settings.port_file.write_text("1\n")
        assert f"kill {os.getpid()}" in look(running.check_daemon(whom), "api").mend
    assert look(running.check_daemon(whom), "daemon").grade is Grade.NOTE


# Findings about git.


def test_a_workspace_with_everything_wrong(home: Home) -> None:
    whom = with_settings(home, git_auto_push=True)
    assert look(repositories.check_workspace(whom), "workspace").grade is Grade.NOTE
    workspace = make_repo(home.path / "workspace", {"a.py": "a = 1\n"})
    assert not graves(repositories.check_workspace(whom))
    assert "@" in look(repositories.check_workspace(whom), "identity").text
    lock = workspace / ".git" / "refs" / "heads" / "main.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    git(workspace, "remote", "add", "origin", str(home.path / "nowhere.git"))
    findings = list(repositories.check_workspace(whom))
    assert graves(findings) == {"lock file": Grade.FAULT, "push": Grade.WARNING}
    assert f"rm {lock}" in look(findings, "lock file").mend
    git(workspace, "remote", "set-url", "origin", "ext::sh -c true")
    assert look(repositories.check_workspace(whom), "push").grade is Grade.FAULT
    git(workspace, "init", "-q", "--bare", str(home.path / "there.git"))
    git(workspace, "remote", "set-url", "origin", str(home.path / "there.git"))
    assert look(repositories.check_workspace(whom), "push").grade is Grade.OK
    blob = git(workspace, "rev-parse", "HEAD:a.py")
    (workspace / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert look(repositories.check_workspace(whom), "fsck").grade is Grade.FAULT


# Findings about the sandbox and the models.


def test_a_sandbox_that_holds_and_one_that_does_not_isolate(home: Home) -> None:
    findings = list(backends.check_sandbox(with_settings(home, sandbox="bubblewrap")))
    assert look(findings, "sandbox").grade is Grade.OK
    assert "escape attempts blocked" in look(findings, "self-test").text
    weak = list(backends.check_sandbox(with_settings(home, sandbox="process")))
    assert look(weak, "sandbox").grade is Grade.WARNING
    assert [each for each in weak if each.what == "self-test" and each.grade is Grade.WARNING]
    missing = backends.check_sandbox(with_settings(home, sandbox="docker", docker_host="unix:///nowhere.sock"))
    assert graves(missing)["sandbox"] is Grade.FAULT


def test_models_that_answer_that_do_not_and_that_are_unknown(home: Home) -> None:
    key = "sk-quiet-quiet-quiet-quiet"
    with WireServer(lambda _phase, _messages: "ready") as server:
        whom = with_settings(
            home, model_type="openai", model_name=server.model, openai_base_url=server.openai_base_url,
            openai_api_key=SecretStr(key),
        )  # fmt: skip
        findings = list(backends.check_models(whom))
        assert look(findings, f"openai {server.model}").text.startswith("answers")
        assert look(findings, "models").grade is Grade.NOTE
        server.listed = {"owned_by": "library"}
        advised = [finding for finding in backends.check_models(whom) if finding.grade is Grade.WARNING]
        assert ["this server is Ollama" in finding.text for finding in advised] == [True]
        deep = list(backends.check_models(replace(whom, deep=True)))
        assert any("replied in" in finding.text for finding in deep)
    gone = list(backends.check_models(whom))
    assert graves(gone) == {f"openai {server.model}": Grade.WARNING, "models": Grade.WARNING}
    assert key not in str([findings, deep, gone])
    assert look(backends.check_models(with_settings(home, model_type="oracle")), "models").grade is Grade.FAULT


# Findings about the inbox, the clock and the limits.


def test_a_broken_inbox_is_told_line_by_line(home: Home) -> None:
    home.path.mkdir()
    whom = check_context(home.path)
    assert look(machine.check_intake(whom), "tasks.yaml").grade is Grade.OK
    whom.settings.tasks_file.write_text("tasks:\n  - description: fine\n  - priority: 1\n")
    broken = look(machine.check_intake(whom), "tasks.yaml")
    assert (broken.grade, broken.text) == (Grade.FAULT, "3:5: description: Field required")
    whom.settings.tasks_file.write_text("tasks:\n  - fine\n  - {description: b, repo: /nope}\n")
    refused = look(machine.check_intake(whom), "tasks.yaml")
    assert (refused.grade, refused.text) == (Grade.FAULT, "3:22: repo: there is no folder /nope")
    whom.settings.tasks_file.write_text("tasks:\n  - fine\n")
    assert look(machine.check_intake(whom), "tasks.yaml").text == "1 entry, all of them valid"
