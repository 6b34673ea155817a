"""The daemon's terminal: streams that are closed, and the message at its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nightshift.app.terminal import startup_message
from nightshift.app.web import entrance
from nightshift.config.load import load_settings
from nightshift.core.status import DaemonStatus, ModelStatus
from nightshift.core.tasks.states import DaemonState

ROOT = Path(__file__).resolve().parents[2]
SHOW = "from nightshift.app.terminal import show; import sys; sys.stdin.readline(); "
SHOW += "show('a'); show('b'); sys.stderr.write('went on')"
FILL = "from nightshift.app.terminal import fill_streams; import os; "
FILL += "fill_streams(); print(os.open('/dev/null', os.O_RDONLY) > 2)"


def test_a_reader_that_is_gone_is_spoken_to_no_more_and_the_exit_code_is_clean() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SHOW], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.stderr.read() == b"went on"
        assert process.wait(60) == 0


def test_no_file_is_opened_under_the_number_of_a_standard_stream() -> None:
    script = f'exec "{sys.executable}" -c "$0" <&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", script, FILL], cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"True\n")


OLLAMA = ModelStatus(name="ollama", model="small", available=False, detail="does not answer")
ENGINE = ModelStatus(name="repair", model="", available=True)


def said(*models: ModelStatus) -> str:
    status = DaemonStatus(state=DaemonState.RUNNING, uptime_s=1.0, version="1", models=models, sandbox="bubblewrap")
    return startup_message(status, "http://127.0.0.1:5000")


def test_without_a_model_the_engine_says_what_it_can_do_and_how_to_get_a_model() -> None:
    text = said(OLLAMA, ENGINE)
    assert "the built-in engine works alone" in text
    assert "mends Python code" in text
    assert "  model      repair: answers\n" in text
    assert "ollama pull" in text
    assert "OPENAI_API_KEY" in text


def test_it_says_what_visitors_are_asked_for(tmp_path: Path) -> None:
    status = DaemonStatus(state=DaemonState.RUNNING, uptime_s=1.0, version="1", sandbox="bubblewrap")
    set_by_owner = load_settings({"api_token": "correct-horse"}, home=tmp_path)
    made_by_daemon = load_settings({"sandbox": "process"}, home=tmp_path)
    assert "API_TOKEN" in startup_message(status, "http://127.0.0.1:5000", entrance=entrance(set_by_owner))
    assert "correct-horse" not in entrance(set_by_owner)
    assert str(tmp_path / "state" / "token") in entrance(made_by_daemon)
    assert entrance(load_settings(home=tmp_path)) == ""


def test_without_engine_and_model_tasks_wait() -> None:
    text = said(OLLAMA)
    assert "Tasks wait until one does" in text
    assert "built-in engine" not in text
    assert "ollama pull" in text


def test_with_a_model_nothing_is_explained() -> None:
    there = ModelStatus(name="ollama", model="small", available=True)
    assert "ollama pull" not in said(there, ENGINE)
