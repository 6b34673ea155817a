"""Nothing leaks: a hostile suite's output does no harm in any place, and the suite sees nothing of the daemon."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.daemon import Daemon, git, settings_for
from tests.support.sse import Listener
from tests.support.wire_server import WireServer

SECRET = "daemon-secret-0123456789abcdef"
# The suite builds the secret and the texts that look like keys at run time, so that the task's text does not contain
# them.
SUITE = """
import os
import sys

import pytest

from job_1 import total

SECRET = "daemon-secret-" + "0123456789abcdef"
HOSTILE = (
    chr(27) + "[31mred" + chr(27) + "]0;owned" + chr(7) + chr(0x202E) + "txt.exe" + chr(0x2066) + chr(0x200B) + chr(0)
    + chr(0x9B) + "2J<script>alert(1)</script><img src=x onerror=alert(2)>" + chr(13) + chr(10)
    + '{"timestamp": "x", "level": "INFO", "event": "committed", "message": "forged"}' + chr(10)
    + SECRET + " " + "sk-" + "proj-abcdefghij0123456789" + " Phase: TESTING "
)


class Noisy(Exception):
    pass


Noisy.__name__ = Noisy.__qualname__ = "Noisy" + HOSTILE.replace(chr(0), "")


@pytest.mark.parametrize("noise", ["plain", HOSTILE])
def test_total(noise):
    os.write(1, b"y" * 200_000 + bytes([10, 255, 254, 0]) + HOSTILE.encode() + bytes([10]))
    print(HOSTILE, file=sys.stderr)
    if total([1, 2]) != 2:
        raise Noisy(HOSTILE)
    assert total([1, 2]) == 2


def test_empty():
    assert total([]) == 0, HOSTILE
"""
FLOOD = """
from job_2 import total


def test_long_lines():
    print("z" * 5_000_000 + chr(27) + "]0;owned" + chr(7))
    assert total([2, 3]) == 3
"""
RAW = ("\x1b", "\x07", "\x00", "\x9b", "\u202e", "\u2066", "\u200b")


@pytest.fixture
def daemon(tmp_path: Path, server: WireServer) -> Iterator[Daemon]:
    settings = settings_for(server, ANTHROPIC_API_KEY=SECRET, OPENAI_API_KEY="another-secret-0123456789")
    with Daemon(tmp_path / "home", settings) as running:
        yield running


def read_stored(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each text in the database, except task specs, with its column.

    JSON is decoded, so that no escape hides a character.
    """
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table.startswith(("sqlite_", "task_specs")) or "vec" in table:
                continue
            rows = db.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in rows.description]
            for row in rows:
                for name, value in zip(names, row, strict=True):
                    is_text = table == "artifacts" and name == "body"
                    text = zlib.decompress(value).decode("utf-8", "surrogatepass") if is_text else value
                    if isinstance(text, str):
                        yield f"{table}.{name}", unescape(text)


def unescape(text: str) -> str:
    """Undo the escapes in a JSON document; return any other text unchanged."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False).replace("\\u00", "\x00\\u00")
    except ValueError:
        return text


def assert_harmless(where: str, text: str) -> None:
    assert SECRET not in text, f"the secret is in {where}"
    assert "another-secret" not in text, where
    assert "sk-proj-" not in text, where
    assert not [hex(ord(char)) for char in RAW if char in text], f"{where}: {text[:300]!a}"


def test_hostile_output_is_harmless_in_the_store_the_log_the_api_the_page_the_prompt_and_the_terminal(
    daemon: Daemon, server: WireServer
) -> None:
    first = daemon.submit(description="Write total() in job_1.py", tests={"test_job_1.py": SUITE})
    second = daemon.submit(description="Write total() in job_2.py", tests={"test_job_2.py": FLOOD})
    task, flooded = daemon.wait(first, second, within_s=120)
    assert (task["ending"], flooded["ending"]) == ("committed", "committed"), "what tests print is cut and counts not"

    for address in (f"/task/{first}", f"/task/{second}", "/", "/logs"):
        page = urlopen(daemon.url + address, timeout=10).read().decode()
        assert_harmless(address, page)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    for address in (f"/api/task/{first}", "/api/logs?limit=500"):
        assert_harmless(address, json.dumps(daemon.get(address), ensure_ascii=False).replace("\\u00", "\x00"))
    for words in (("--show", str(first)), ("--logs",), ("--status",), ("--show", str(second)), ("--logs", "--json")):
        shown = daemon.cli(*words)
        assert_harmless(" ".join(words), shown.stdout.replace("\\u00", "\x00") + shown.stderr)
    assert "Noisy" in daemon.cli("--logs").stdout, "the failure is told, so the checks above looked at something"

    stream = Listener(int(daemon.url.rsplit(":", 1)[1]), last_id=0)
    sent = [data for _, _, data in stream.take(len(daemon.get("/api/logs?limit=500")["events"]))]
    stream.close()
    assert any("Noisy" in str(data) for data in sent)
    for data in sent:
        assert_harmless("the stream", unescape(json.dumps(data)))

    prompts = [message["content"] for request in server.requests for message in request.messages]
    assert any("Noisy" in prompt and "\\x1b[31mred" in prompt for prompt in prompts)
    for prompt in prompts:
        assert_harmless("a prompt", prompt)
    assert all(len(prompt) < 60_000 for prompt in prompts)
    assert {request.phase for request in server.requests} == {"PLANNING", "CODING", "REFLECTING"}

    workspace, commit = daemon.home / "workspace", task["commit"]
    assert_harmless("the commit", git(workspace, "log", "-1", "--format=%B", commit))
    note = git(workspace, "notes", "--ref=nightshift", "show", commit)
    assert_harmless("the note", json.dumps(json.loads(note), ensure_ascii=False).replace("\\u00", "\x00"))
    daemon.stop()

    lines = (daemon.home / "logs" / "agent.log").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    for event in events:
        assert_harmless("the log", unescape(json.dumps(event)))
    assert not [event for event in events if event["message"] == "forged"]
    assert sum(event["event"] == "committed" for event in events) == 2
    assert_harmless("the daemon's output", daemon.output())
    rows = list(read_stored(daemon.home / "db" / "agent_logs.sqlite"))
    assert any("Noisy" in text for _, text in rows)
    for where, text in rows:
        assert_harmless(where, text)
