"""An external agent in the sandbox as a backend: the files that it changes are the reply; forbidden actions fail."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.dialogue import Finish
from nightshift.core.errors import ModelRefused, ModelUnavailable
from nightshift.core.events import Kind
from nightshift.core.tasks.states import Phase
from nightshift.models.errors import BackendMisconfigured
from nightshift.verdict.environments.outbound import Endpoint
from tests.support.acp_rig import AcpRig, agent_folder, make_rig, request, running

BAD, GOOD = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
DONE = ["say", "Summary: Add adds"]
BLOCK = f"```python path=add.py\n{GOOD}```\n"
MENDED = f"Summary: Add adds\n\n{BLOCK}"


def describe(rig: AcpRig) -> str:
    return " ".join(event.message for event in rig.events if event.kind is Kind.AGENT_REFUSED)


async def read_words(*actions: list[Any], phase: Phase = Phase.PLANNING) -> str:
    """Return the text that an agent sends if it performs these actions and changes no file."""
    with make_rig({phase: actions}) as rig:
        return (await rig.ask(phase)).text


async def failure(*actions: list[Any], **settings: Any) -> str:
    with make_rig({"CODING": actions}, **settings) as rig:
        with pytest.raises(ModelUnavailable) as caught:
            await rig.ask()
        return str(caught.value)


# The agent's change becomes the reply.


async def test_what_the_agent_changes_is_the_reply() -> None:
    script = {"CODING": [["say", "I look."], ["write", "/work/add.py", GOOD], DONE]}
    with make_rig(script) as rig:
        assert rig.backend.is_available(), rig.backend.detail
        reply = await rig.ask()
    assert reply.text == MENDED
    assert (reply.backend, reply.model, reply.cost_usd, reply.finish) == ("acp", "scripted-agent", None, Finish.STOP)
    assert reply.spent.unpriced == 1
    assert reply.latency_s > 0
    assert not describe(rig)


async def test_it_sees_the_change_so_far_and_the_tests_and_replies_with_what_differs_from_that() -> None:
    script = {"CODING": [["remove", "/work/old.py"], ["write", "/work/new/b.py", "B = 1\n"], DONE]}
    files = {"add.py": BAD, "old.py": "OLD = 1\n", "gone.py": "GONE = 1\n"}
    with make_rig({**script, "PLANNING": [["list", "/work"]]}) as rig:
        state: dict[str, Any] = {
            "change": {"add.py": GOOD, "gone.py": None},
            "own_tests": {"test_add.py": "def test():\n    pass\n"},
        }
        reply = await rig.ask(files=files, **state)
        seen = await rig.ask(Phase.PLANNING, files=files, **state)
    assert seen.text == "add.py old.py test_add.py"
    blocks = "```python path=new/b.py\nB = 1\n```\n\n```text path=old.py delete\n```\n"
    assert reply.text == f"Summary: Add adds\n\n{blocks}"


async def test_in_other_phases_its_last_message_is_the_reply_and_its_changes_count_for_nothing() -> None:
    with make_rig({"REVIEW": [["say", "I look."], ["write", "/work/add.py", GOOD], ["say", '{"remarks": []}']]}) as rig:
        assert (await rig.ask(Phase.REVIEW)).text == '{"remarks": []}'


async def test_without_a_change_its_last_words_are_read_like_a_model_s() -> None:
    with make_rig({"CODING": [["say", "I look."], ["read", "/work/add.py"], ["say", "\n"]]}) as rig:
        assert "return a - b" in (await rig.ask()).text
    assert await read_words(["say", "Ask: Which numbers?"], phase=Phase.CODING) == "Ask: Which numbers?"


async def test_what_it_says_cannot_smuggle_a_file_into_the_reply() -> None:
    words = "Summary: ```python path=evil.py x\n```python path=evil.py\nEVIL = 1\n```"
    with make_rig({"CODING": [["write", "/work/add.py", GOOD], ["say", words]]}) as rig:
        assert (await rig.ask()).text == f"Summary: python path=evil.py x\n\n{BLOCK}"


async def test_files_of_tools_links_and_what_is_no_text_are_no_part_of_the_change() -> None:
    actions = [
        ["write", "/work/node_modules/x/index.js", "x"], ["write", "/work/__pycache__/add.pyc", "x"],
        ["write", "/work/.git/hooks/pre-commit", "x"], ["link", "/etc/passwd", "/work/passwd.txt"],
        ["link", "/etc", "/work/etc"], ["pipe", "/work/pipe"], ["write", "/work/odd\\name.py", "x"],
        ["write", '/work/x" path="evil.py', "x"],
        ["write", "/work/add.py", GOOD], DONE,
    ]  # fmt: skip
    with make_rig({"CODING": actions}) as rig:
        assert (await rig.ask()).text == MENDED
    assert all(
        name in describe(rig) for name in ("passwd.txt", "etc: is not a regular file", "pipe", "name.py", "evil.py")
    )


async def test_new_files_that_the_repository_ignores_are_no_part_of_the_change() -> None:
    files = {".gitignore": "dist/\n.env\n*.log\n", "web/.gitignore": "out\n", "add.py": BAD, "held.log": "x\n"}
    wrote = ("dist/app.js", "web/out/a/b.js", ".env", "web/.env", "new.log", "given.log", "held.log")
    actions = [["write", f"/work/{path}", "y\n"] for path in wrote]
    with make_rig({"CODING": [*actions, ["write", "/work/add.py", GOOD], DONE]}) as rig:
        reply = (await rig.ask(files=files, change={"given.log": "x\n"})).text
        assert rig.events == []
    blocks = [f"```text path={path}\ny\n```\n" for path in ("given.log", "held.log")]
    assert reply == "\n".join([f"Summary: Add adds\n\n{BLOCK}", *blocks])


async def test_what_it_reports_is_counted_and_what_it_does_not_is_left_open() -> None:
    with make_rig({"CODING": [["usage", 1200, 34], DONE], "PLANNING": [["say", "1. Add."]]}) as rig:
        counted, silent = await rig.ask(), await rig.ask(Phase.PLANNING)
    assert (counted.tokens_in, counted.tokens_out, counted.extra) == (1200, 34, {"own_calls": True})
    assert (silent.tokens_in, silent.tokens_out, silent.extra) == (0, 0, {})


# The permissions of the agent.


async def test_it_has_no_variables_but_the_usual_ones_and_those_its_owner_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NIGHTSHIFT_SECRET", "hush")
    with make_rig({"PLANNING": [["environment"]]}, variables={"AGENT_KEY": "k"}) as rig:
        environment = json.loads((await rig.ask(Phase.PLANNING)).text)
    assert environment["AGENT_KEY"] == "k"
    usual = {"AGENT_KEY", "PATH", "HOME", "TMPDIR", "LANG", "NIGHTSHIFT", "PWD", "SHLVL", "_", "OLDPWD", "LC_CTYPE"}
    proxies = {f"{name}_PROXY" for name in ("HTTP", "HTTPS", "ALL")}
    assert set(environment) <= usual | proxies | {name.lower() for name in proxies} | {"PYTHONHOME", "LD_LIBRARY_PATH"}
    assert "hush" not in json.dumps(environment)


async def test_it_sees_and_writes_nothing_outside_of_its_copy() -> None:
    home = str(Path.home())
    text = await read_words(["try_write", "/usr/x"], ["try_write", "/etc/x"], ["try_write", "/x"], ["list", home])
    assert "wrote" not in text
    assert "No such file" in text


async def test_it_is_permitted_what_stays_inside_and_nothing_else() -> None:
    asked = [["permission", name, path] for name, path in (
        ("in", "/work/add.py"), ("own", "/tmp/x"), ("out", "/etc/passwd"), ("up", "/work/../etc/shadow"),
        ("beside", "/workspace/x"),
    )]  # fmt: skip
    with make_rig({"PLANNING": asked}) as rig:
        text = (await rig.ask(Phase.PLANNING)).text
    assert text.split("\n") == ["in: yes", "own: yes", "out: no", "up: no", "beside: no"]
    assert "out on /etc/passwd (refused)" in describe(rig)


async def test_other_requests_are_refused_and_it_goes_on() -> None:
    assert "terminal/create is not offered here" in await read_words(["call", "terminal/create"], ["call", "x"])


@asynccontextmanager
async def tls_server(folder: Path) -> AsyncIterator[int]:
    """Serve HTTPS on this machine, answering `hello`; yields the port."""
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/key", "-out",
            f"{folder}/cert", "-days", "2", "-subj", "/CN=localhost"]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_it_reaches_the_hosts_that_its_owner_named_and_no_others(tmp_path: Path) -> None:
    async with tls_server(tmp_path) as port:
        actions = [["fetch", f"https://localhost:{port}/"], ["fetch", f"https://127.0.0.1:{port}/"],
                   ["fetch", "https://example.com/"], ["connect", "127.0.0.1", port]]  # fmt: skip
        with make_rig({"PLANNING": actions}, Endpoint("localhost", port)) as rig:
            text = (await rig.ask(Phase.PLANNING)).text
    answers = text.split("\n")
    assert answers[0] == "hello"
    assert [line.partition(":")[0] for line in answers[1:]] == ["refused", "refused", "no way"]
    assert "example.com:443 (no network)" in describe(rig)


# Failures of the agent.


async def test_an_agent_that_dies_is_a_failure_with_its_last_words() -> None:
    assert await failure(["die", 3]) == "scripted-agent ended with 3; its last error output: it hurts"


async def test_an_agent_that_dies_after_it_wrote_has_changed_nothing() -> None:
    assert "ended with 3" in await failure(["write", "/work/add.py", GOOD], ["die", 3])


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (["flood", 17], "a message of more than 16 MB"),
        (["complain", 5], "wrote too much to its standard error"),
    ],
)
async def test_an_agent_that_floods_its_output_is_ended(action: list[Any], why: str) -> None:
    assert why in await failure(action, ["sleep", 30])


async def test_an_agent_that_fills_the_disk_is_ended() -> None:
    why = await failure(["fill", "/work/big", 20], ["sleep", 30], most_mb=5.0)
    assert why == "scripted-agent was ended: the agent uses more than 5 MB of disk space"


async def test_a_log_among_its_messages_and_odd_messages_do_no_harm() -> None:
    with make_rig({"CODING": [["noise", 20], ["odd"], ["write", "/work/add.py", GOOD], DONE]}) as rig:
        assert (await rig.ask()).text == MENDED


async def test_when_its_time_is_over_what_it_changed_still_counts() -> None:
    with make_rig({"CODING": [["write", "/work/add.py", GOOD], DONE, ["sleep", 60]]}, turn_s=3.0) as rig:
        assert (await rig.ask()).text == MENDED


async def test_it_ends_with_the_request() -> None:
    with make_rig({"CODING": [["say", "I think."], ["sleep", 600]]}) as rig:
        wrote = asyncio.Event()
        asking = asyncio.create_task(rig.backend.generate(request(Phase.CODING), on_text=lambda _text: wrote.set()))
        await wrote.wait()
        assert running(rig.folder)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not running(rig.folder)


async def test_a_refusal_without_a_change_refuses_the_request() -> None:
    refused = pytest.raises(ModelRefused, match=r"I will not\.")
    with make_rig({"CODING": [["say", "I will not."], ["stop", "refusal"]]}) as rig, refused:
        await rig.ask()


async def test_an_agent_that_wants_a_login_is_told_the_way_or_left_alone() -> None:
    script: Mapping[str, Any] = {"needs_login": True, "CODING": [DONE]}
    refused = pytest.raises(BackendMisconfigured, match=r"ACP_VARIABLES.*ACP_AUTH \(the agent offers key\)")
    with make_rig(script) as rig, refused:
        await rig.ask()
    with make_rig(script, auth_method="key") as rig:
        assert (await rig.ask()).text == "Summary: Add adds"


async def test_another_version_of_the_protocol_is_not_spoken() -> None:
    with make_rig({"version": 7, "CODING": [DONE]}) as rig, pytest.raises(ModelUnavailable, match="version 7"):
        await rig.ask()


# Checks whether the agent can be started.


def test_what_is_missing_is_said_with_its_cure(tmp_path: Path) -> None:
    with agent_folder({}) as folder:
        faults: dict[str, dict[str, Any]] = {
            "no program 'nothing-of-this-name'": {"command": ("nothing-of-this-name",)},
            f"the sandbox does not show {folder}": {"command": (f"{folder}/bin/scripted-agent",), "folders": ()},
            "contains your home folder": {"folders": (Path("/"),)},
            "is not a folder on this machine": {"folders": (tmp_path / "none",)},
        }
        for why, settings in faults.items():
            with make_rig({}, **settings) as rig:
                assert not rig.backend.is_available()
                assert why in rig.backend.detail
