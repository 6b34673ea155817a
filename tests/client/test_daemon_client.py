"""The same client calls with a daemon (over the network) and without one (in process)."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightshift.config.load import load_settings
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Ending
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.queue import checkpoints
from nightshift.server.auth.access import read_or_make_token
from nightshift.server.context import AppContext
from tests.support.home import CliResult, Home


@pytest.fixture
def context(home: Home) -> Iterator[AppContext]:
    with home.daemon() as context:
        yield context


@pytest.fixture(params=["daemon", "database"])
def either(request: pytest.FixtureRequest, home: Home) -> Iterator[Home]:
    """Provide the home, once with a running daemon and once without."""
    if request.param == "database":
        yield home
        return
    with home.daemon():
        yield home


def ended(context: AppContext, ending: Ending) -> None:
    """Wait for the next task, claim it, and finish it with this ending."""
    until = time.monotonic() + 10
    while (task := context.queue.claim("worker-1").result()) is None:
        assert time.monotonic() < until
        time.sleep(0.02)
    context.queue.finish(task.id, task.fence, ending, reason="because").result()


@contextmanager
def a_worker(context: AppContext, ending: Ending) -> Iterator[None]:
    """Finish the next task in another thread while the block runs."""
    thread = threading.Thread(target=ended, args=(context, ending))
    thread.start()
    yield
    thread.join()


def faults(result: CliResult) -> dict[str, str]:
    fields: dict[str, str] = json.loads(result.err)["fields"]
    return fields


# Calls that behave the same with and without a daemon.


def test_a_task_is_added_shown_and_listed(either: Home) -> None:
    assert either.cli("do it", "--json").json == {"task_id": 1, "status": "queued", "new": True, "differs": []}
    shown, listed = either.cli("--show", "1", "--json").json, either.cli("--history", "--json").json
    assert {name: shown[name] for name in listed[0]} == listed[0]
    assert (shown["description"], shown["priority"], shown["iterations"]) == ("do it", 1, [])


def test_an_invalid_task_is_refused_with_its_fields_and_exit_code_2(either: Home) -> None:
    result = either.cli(" ", "--limit", "iterations=0", "--depends-on", "7", "--json")
    assert (result.code, result.out) == (2, "")
    assert faults(result).keys() == {"description", "limits.iterations"}
    assert faults(either.cli("do a", "--depends-on", "7", "--json")) == {"depends_on": "there is no task 7"}
    assert either.cli("do a", "--depends-on", "7").err == "error: depends_on: there is no task 7\n"


def test_cancel_and_retry_move_a_task(either: Home) -> None:
    either.cli("do it")
    assert either.cli("--cancel", "1").out == "task 1 cancelled\n"
    assert either.cli("--retry", "1", "--json").json == {
        "task_id": 1,
        "status": "queued",
        "priority": 1,
        "cancel_requested": False,
    }


def test_what_is_not_there_exits_with_4_and_what_may_not_be_with_5(either: Home) -> None:
    either.cli("do it")
    for option in ("--show", "--cancel", "--retry", "--wait"):
        result = either.cli(option, "9")
        assert (result.code, result.err) == (4, "error: there is no task 9\n")
    result = either.cli("--retry", "1")
    assert result.code == 5
    assert "task 1 is queued" in result.err


def test_pause_and_resume_are_kept(either: Home) -> None:
    assert either.cli("--pause").out == "paused\n"
    context = either.context()
    assert context.queue.pause_state().paused
    assert either.cli("--resume").code == 0
    assert not context.queue.pause_state().paused
    context.database.close()


def test_a_checkpoint_is_asked_for_once(either: Home) -> None:
    result = either.cli("--checkpoint-now")
    assert (result.code, result.out.partition(":")[0]) == (0, "checkpoint")
    context = either.context()
    assert checkpoints.read(context.database.reader()).asked
    context.database.write(lambda conn: checkpoints.begin(context.queue.transaction(conn), "the week is over")).result()
    context.database.close()
    again = either.cli("--checkpoint-now")
    assert again.out == "a checkpoint is already under way or waits for you; `./cli.py resume` starts tasks again\n"
    assert "Paused: checkpoint (the week is over)" in either.cli("--status").out


def test_a_resume_lists_what_else_holds_tasks_back(either: Home) -> None:
    context = either.context()
    context.queue.pause("lunch").result()
    context.queue.add_pause(PauseSource.REVIEW, "20 commits wait to be read").result()
    result = either.cli("--resume")
    assert (result.code, result.out.splitlines()[0]) == (0, "paused")
    assert "Paused: commits to read (20 commits wait to be read); continues by itself, once you have" in result.out
    assert "lunch" not in result.out
    context.queue.remove_pause(PauseSource.REVIEW).result()
    context.database.close()
    assert "Paused" not in either.cli("--resume").out


def test_the_log_is_read_with_its_filters(either: Home) -> None:
    for number in range(3):
        either.cli(f"task {number}")
    either.cli("--cancel", "2")
    events = either.cli("--logs", "--task", "2", "--json").json
    assert [event["event"] for event in events] == ["task_submitted", "task_moved"]
    assert len(either.cli("--logs", "2", "--json").json) == 2
    assert either.cli("--logs", "--level", "error", "--json").out == "[]\n"
    assert either.cli("--logs", "1", "--task", "1").out.endswith("  INFO         1  task_submitted         task 0\n")


def test_the_tasks_of_a_file_are_submitted_once(either: Home) -> None:
    path, second = either.path / "list.yaml", "- {description: b, depends_on: [first]}\n"
    path.write_text("tasks:\n- {description: a, key: first}\n" + second + second)
    first = either.cli("--load-tasks", str(path), "--json").json
    assert first["tasks"] == [
        {"task_id": 1, "status": "queued", "new": True, "line": 2},
        {"task_id": 2, "status": "blocked", "new": True, "line": 3},
    ]
    assert first["notices"] == ["line 4: the same task as in line 3; it is submitted once"]
    again = either.cli("--load-tasks", str(path))
    assert again.out == "task 1 known (line 2)\ntask 2 known (line 3)\n"
    assert "0 new of 2 tasks" in again.err


def test_the_good_tasks_of_a_file_are_submitted_and_the_bad_ones_named(either: Home) -> None:
    path = either.path / "list.yaml"
    bad = "- {description: bad, key: bad, priority: high}\n- {description: waits, depends_on: [bad]}\n"
    path.write_text("tasks:\n- good\n" + bad + "- {description: early, depends_on: [99]}\n")
    result = either.cli("--load-tasks", str(path))
    assert (result.code, result.out) == (2, "task 1 queued (line 2)\n")
    faults = result.err.splitlines()[:3]
    assert [fault.split(":")[2] for fault in faults] == ["3", "4", "5"]
    assert faults[0] == "error: list.yaml:3:32: priority: Input should be a valid integer"
    assert len(either.cli("--load-tasks", str(path), "--json").json["faults"]) == 3
    assert len(either.cli("--history", "--json").json) == 1


# Calls with a daemon.


def test_with_a_daemon_the_status_is_its_own_with_exit_code_0(home: Home, context: AppContext) -> None:
    home.cli("do it")
    result = home.cli("--status")
    assert (result.code, result.err) == (0, "")
    assert "daemon      version 0.1.0, process 4711, up 1 h 2 min" in result.out
    own = datetime(2026, 11, 28, 6, tzinfo=UTC).astimezone()
    assert f"checkpoint  {own.isoformat()}" in result.out
    report = home.cli("--status", "--json").json
    assert (report["state"], report["queue"], report["pid"]) == ("running", {"queued": 1}, 4711)


def test_control_characters_of_a_model_do_not_reach_the_terminal(home: Home, context: AppContext) -> None:
    assert "\\x1b[31m!" in home.cli("--status").out
    home.cli("clear \x1b[2J the screen\u202e")
    for arguments in (("--history",), ("--logs",), ("--show", "1")):
        result = home.cli(*arguments)
        assert "\x1b" not in result.out
        assert "\u202e" not in result.out


def test_running_in_the_foreground_shows_the_progress_and_the_end(home: Home, context: AppContext) -> None:
    home.cli("an older task")
    ended(context, Ending.COMMITTED)
    with a_worker(context, Ending.STUCK):
        result = home.cli("--run", "do it")
    lines = result.out.splitlines()
    assert [line.split()[3] for line in lines[:-1]] == ["task_submitted", "task_claimed", "task_moved"]
    assert (result.code, lines[-1]) == (1, "task 2 failed: stuck, because (0 iterations, 0 tokens)")


def test_with_a_token_reading_needs_it_too(home: Home) -> None:
    with home.daemon(token="t" * 20):
        for asked in (("--status",), ("--history",), ("--logs",), ("--show", "1"), ("--approvals",)):
            result = home.cli(*asked)
            assert (result.code, result.out) == (5, "")
            assert result.err == (
                "error: the daemon asks for its token: set API_TOKEN here to the value that the daemon has\n"
            )
        (home.path / "config.yaml").write_text(f"api_token: {'t' * 20}\n")
        assert home.cli("--status").code == 0
        assert home.cli("--history").code == 0


def test_a_token_that_the_daemon_made_itself_is_found(home: Home) -> None:
    file = load_settings(home=home.path).token_file
    with home.daemon(token=read_or_make_token(file), exposed=True):
        assert home.cli("--status").code == 0
        assert home.cli("do it").out == "task 1 queued\n"


# Calls without a daemon.


def test_without_a_daemon_waiting_for_an_open_task_exits_with_3(home: Home) -> None:
    home.cli("do it")
    result = home.cli("--wait", "1")
    assert (result.code, result.err) == (3, "error: task 1 is queued, and the daemon is not running\n")


def test_looking_creates_no_database(home: Home) -> None:
    assert home.cli("--status").code == 3
    assert home.cli("--logs").code == 3
    assert home.cli("--history").code == 0
    assert home.cli("--show", "1").code == 4
    assert home.cli("--cancel", "1").code == 4
    assert not (home.path / "db").exists()


def test_a_pause_for_the_next_start_is_noted(home: Home) -> None:
    assert home.cli("--pause").err == "the daemon is not running; it will start paused\n"
    assert "Paused by you; continues when you resume: `./cli.py resume`" in home.cli("--status").out


def test_the_daemon_of_another_home_is_left_alone(home: Home, tmp_path: Path) -> None:
    other = Home(path=tmp_path / "other", capture=home.capture)
    with other.daemon():
        port = load_settings(home=other.path).port_file.read_text()
        (home.path / "config.yaml").write_text(f"flask_port: {port}\n")
        assert home.cli("--status").code == 3
        home.cli("do it")
        assert other.cli("--history", "--json").json == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"state": "on"}', "something that is not Nightshift"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "something that is not Nightshift answers (HTTP 302)",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "something that does not speak HTTP answers"),
        (None, "gave no answer in 2 s"),
    ],
)
def test_a_stranger_on_the_port_is_recognised(home: Home, answer: bytes | None, message: str) -> None:
    home.cli("do it")
    settings = load_settings(home=home.path)
    with InstanceLock(settings.lock_file), socket.create_server(("127.0.0.1", 0)) as stranger:
        settings.port_file.write_text(str(stranger.getsockname()[1]))
        thread = threading.Thread(target=_answer_once, args=(stranger, answer))
        thread.start()
        result = home.cli("--status")
        thread.join()
    assert result.code == 3
    assert "queue       1 queued" in result.out
    assert message in result.err


def test_an_answer_beyond_all_bounds_is_not_read_to_its_end(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nightshift.client.connection.MAX_ANSWER_BYTES", 100)
    with home.daemon():
        result = home.cli("--status")
    assert (result.code, "the answer does not end" in result.err) == (3, True)


def test_a_proxy_of_the_environment_gets_neither_requests_nor_token(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed.getsockname()[1]}")
    monkeypatch.delenv("no_proxy", raising=False)
    with home.daemon():
        assert home.cli("--status").code == 0


def _answer_once(server: socket.socket, answer: bytes | None) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(10_000)
        if answer is not None:
            connection.sendall(answer)
        else:
            connection.recv(1)  # until the other side closes the connection


def test_a_daemon_that_is_still_starting_is_not_taken_for_one_that_is_down(home: Home) -> None:
    settings = load_settings(home=home.path)
    with InstanceLock(settings.lock_file), socket.create_server(("127.0.0.1", 0)) as closed:
        settings.port_file.write_text(str(closed.getsockname()[1]))
        closed.close()
        result = home.cli("--status")
    assert result.code == 3
    assert "a process works on this home, but no daemon answers: Connection refused" in result.err
