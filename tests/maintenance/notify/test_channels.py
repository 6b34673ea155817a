"""The channels that deliver a notice: the owner's command as a real process, and a POST request over real HTTP."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from nightshift.maintenance.notify.channels import for_desktop, post, run_command
from nightshift.maintenance.notify.forms import write_notice
from nightshift.maintenance.notify.notices import Notice, NoticeKind
from tests.support.daemon import until
from tests.support.receiver import receiving

NOTICE = Notice(id="event-7", kind=NoticeKind.FAILED, title="Task 7 failed: $(touch x)", message="wörds\n", task_id=7)
ENVIRON = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": "sk-very-secret", "DISPLAY": ":0"}


def alive(pid: Path) -> bool:
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    return state.exists() and state.read_text().split()[2] != "Z"


async def test_it_reads_the_notice_and_finds_it_in_its_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "import json,os,sys; json.dump([json.load(sys.stdin), dict(os.environ)], open(sys.argv[1], 'w'))"
    assert await run_command([sys.executable, "-c", code, str(out)], NOTICE, ENVIRON) == ""
    notice, environ = json.loads(out.read_text())
    assert (notice["id"], notice["kind"], notice["title"], notice["task_id"]) == ("event-7", "failed", NOTICE.title, 7)
    assert environ["NIGHTSHIFT_NOTICE_KIND"] == "failed"
    assert environ["NIGHTSHIFT_NOTICE_TITLE"] == NOTICE.title
    assert environ["NIGHTSHIFT_NOTICE_TASK"] == "7"
    assert environ["DISPLAY"] == ":0"
    assert "OPENAI_API_KEY" not in environ


async def test_what_it_says_when_it_fails_is_told_and_bounded() -> None:
    code = "import sys; sys.stdout.write('no\\x1b[31m bus\\n' + 'x' * 5_000_000); sys.exit(3)"
    fault = await run_command([sys.executable, "-c", code], NOTICE, ENVIRON)
    assert f"{sys.executable} ended with 3: no\\x1b[31m bus" in fault
    assert len(fault) < 600


async def test_one_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"sleep 300 & echo $! > {pid}; wait"
    fault = await run_command(["/bin/sh", "-c", script], NOTICE, ENVIRON, wall_s=1.0)
    assert "did not end within 1 s" in fault
    until(lambda: not alive(pid))  # the command would sleep for five minutes


async def test_the_desktop_gets_title_and_text_as_words_and_no_markup(tmp_path: Path) -> None:
    shown, program = tmp_path / "shown", tmp_path / "notify-send"
    program.write_text(f"#!{sys.executable}\nimport json,sys; json.dump(sys.argv[1:], open({str(shown)!r}, 'w'))\n")
    program.chmod(0o755)
    notice = Notice(id="x", kind=NoticeKind.DONE, title="--expire-time=0 `id`", message="<a href='x'>a</a> & b")
    assert await run_command(for_desktop(notice), notice, {"PATH": f"{tmp_path}:{os.environ['PATH']}"}) == ""
    words = json.loads(shown.read_text())
    assert words == ["--app-name=Nightshift", "--", notice.title, "&lt;a href='x'&gt;a&lt;/a&gt; &amp; b"]


TROUBLE = Notice(id="event-7", kind=NoticeKind.TROUBLE, title="Tür", task_id=7)
TOLD = write_notice(TROUBLE, "json", "")


async def test_it_is_signed_over_time_and_body() -> None:
    now = int(time.time())
    with receiving() as receiver:
        assert await post(receiver.url, "hush", TOLD, now) == ""
    headers, body = receiver.headers[0], receiver.bodies[0]
    assert json.loads(body)["title"] == "Tür"
    assert headers["X-Nightshift-Notice"] == "event-7"
    assert headers["X-Nightshift-Timestamp"] == str(now)
    wanted = hmac.new(b"hush", str(now).encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Nightshift-Signature"] == f"sha256={wanted}"


@pytest.mark.parametrize("status", [301, 308])
async def test_a_redirect_is_refused_and_not_followed(status: int) -> None:
    with receiving() as receiver:
        receiver.statuses = [status]
        assert "redirects elsewhere" in await post(receiver.url, "hush", TOLD, 1)
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize("status", [401, 500])
async def test_what_is_not_taken_is_told_by_its_status(status: int) -> None:
    with receiving() as receiver:
        receiver.statuses = [status]
        assert await post(receiver.url, "", TOLD, 1) == f"the URL answered with HTTP {status}"


async def test_who_does_not_answer_is_not_waited_for_and_the_url_is_not_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/secret-path"
        assert await post(url, "", TOLD, 1, wall_s=0.2) == "the URL gave no answer within 0.2 s"
    gone = await post(url, "", TOLD, 1)
    assert gone.startswith("the URL does not answer")
    assert "secret-path" not in gone
