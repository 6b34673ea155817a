"""The daemon's terminal: closed output streams, and the message at the start."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_no_file_is_opened_under_the_number_of_a_standard_stream() -> None:
    script = f'exec "{sys.executable}" -c "$0" <&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", script, FILL], cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"True\n")


OLLAMA = ModelStatus(name="ollama", model="small", available=False, detail="does not answer")
ENGINE = ModelStatus(name="repair", model="", available=True)


def read_words(*models: ModelStatus) -> str:
    status = DaemonStatus(state=DaemonState.RUNNING, uptime_s=1.0, version="1", models=models, sandbox="bubblewrap")
    return startup_message(status, "http://127.0.0.1:5000")


def test_without_a_model_the_engine_says_what_it_can_do_and_how_to_get_a_model() -> None:
    text = read_words(OLLAMA, ENGINE)
    assert "the built-in engine works alone" in text
    assert "fixes Python code" in text
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


SPEAKS = """
import logging
from nightshift.app.terminal import free_streams, show
logging.basicConfig(level=logging.WARNING)
with free_streams():
    for number in range(300):
        show("x" * 1000)
        logging.warning("y" * 1000)
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("reader", ["reads nothing", "has gone"])
def test_a_program_ends_whoever_reads_it(stream: str, reader: str) -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(sink, b"z" * 4096):
            pass
    os.set_blocking(sink, True)
    if reader == "has gone":
        os.close(source)
    out, errors = (sink if stream == name else subprocess.DEVNULL for name in ("stdout", "stderr"))
    done = subprocess.run([sys.executable, "-c", SPEAKS], cwd=ROOT, timeout=60, check=False, stdout=out, stderr=errors)
    os.close(sink)
    if reader == "reads nothing":
        os.close(source)
    assert done.returncode == 0


LIFTED = """
import os, resource, signal
{before}
from nightshift.app import main
from nightshift.storage.files.whole import forbid_others_to_write
main._lift_limits()
forbid_others_to_write()
print({after})
"""


@pytest.mark.parametrize(
    ("before", "after", "output"),
    [
        (
            "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 512))",
            "resource.getrlimit(resource.RLIMIT_NOFILE)[0]",
            "512",
        ),
        ("resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))", "resource.getrlimit(resource.RLIMIT_NOFILE)[0]", "64"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, {15, 2})", "signal.pthread_sigmask(signal.SIG_BLOCK, ())", "set()"),
        ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "os.waitstatus_to_exitcode(os.system('exit 3'))", "3"),
        ("os.umask(0)", "oct(os.umask(0))", "0o22"),
    ],
)
def test_a_daemon_makes_the_best_of_how_it_is_started(before: str, after: str, output: str) -> None:
    code = LIFTED.format(before=before, after=after)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, timeout=60, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == output
