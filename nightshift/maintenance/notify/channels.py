"""The channels of notices: the owner's command, the desktop, and a POST to the owner's URL.

A command runs without a shell and with a timeout that also ends its child processes. A POST is signed so that the
receiver can verify its origin: HMAC-SHA256 over the timestamp, a full stop and the body, in hexadecimal after
`sha256=`. The signature covers the timestamp, so the receiver can recognise a replayed message by its age. Redirects
are refused: they would send the notice and its signature to another address. No proxy of the environment is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import html
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.core.clock import Clock
from nightshift.core.text.masking import printable
from nightshift.maintenance.notify.forms import Form, Written, form_of, write_notice
from nightshift.maintenance.notify.notices import Notice, NoticeKind

COMMAND, DESKTOP, URL = WAYS = "notify_command", "notify_desktop", "notify_url"
COMMAND_S, POST_S = 30.0, 15.0
KEPT_BYTES = 2000
_NOT_PASSED_ON = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The channels of notices, and the kinds of notices that are sent through them.

    An empty command or URL means that this channel is not configured. `form` is the format of the POST. `dashboard` is
    the address that notices link to; empty means no links.
    """

    command: tuple[str, ...] = ()
    desktop: bool = False
    url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    form: Form = "auto"
    dashboard: str = ""
    on: frozenset[NoticeKind] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The configured channels, by the names of their settings."""
        return tuple(name for name, given in zip(WAYS, (self.command, self.desktop, self.url), strict=True) if given)

    async def send(self, name: str, notice: Notice, now: Clock) -> str:
        """Send a notice through one channel; return the error, empty when it arrived."""
        if name == COMMAND:
            return await run_command(self.command, notice, self.variables)
        if name == DESKTOP:
            return await run_command(for_desktop(notice), notice, self.variables)
        text = write_notice(notice, form_of(self.form, self.url), self.dashboard)
        return await post(self.url, self.secret, text, int(now().timestamp()))


def for_desktop(notice: Notice) -> tuple[str, ...]:
    """Return the command that shows the notice on the desktop; markup in its text is escaped."""
    text = html.escape(notice.message or "\n".join(notice.lines), quote=False)
    return "notify-send", "--app-name=Nightshift", "--", notice.title, text


async def run_command(
    argv: Sequence[str], notice: Notice, environ: Mapping[str, str], *, wall_s: float = COMMAND_S
) -> str:
    """Run a command with the notice as JSON on its standard input; return the error, empty after exit status 0.

    Args:
        argv: the program and its arguments.
        notice: also passed in `NIGHTSHIFT_NOTICE_ID`, `_KIND`, `_TITLE`, `_MESSAGE` and `_TASK`.
        environ: the daemon's environment; variables named like a secret are not passed on.
        wall_s: timeout in seconds. After the run or the timeout, all processes of the command's group are killed.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=_environment(notice, environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"{argv[0]} cannot be started: {error}"
    try:
        async with asyncio.timeout(wall_s):
            output = await _feed(process, notice.as_json())
            code = await process.wait()
    except TimeoutError:
        return f"{argv[0]} did not end within {wall_s:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return f"{argv[0]} ended with {code}: {printable(output).strip()[:300]}".rstrip(": ") if code else ""


async def _feed(process: asyncio.subprocess.Process, text: bytes) -> bytes:
    """Write the text to the input of the process, and return the beginning of the output."""
    assert process.stdin is not None
    assert process.stdout is not None
    output = bytearray()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # The process may end without reading its input.
        process.stdin.write(text)
        process.stdin.close()
    while chunk := await process.stdout.read(1 << 16):
        output += chunk[: KEPT_BYTES - len(output)]
    return bytes(output)


def _environment(notice: Notice, environ: Mapping[str, str]) -> dict[str, str]:
    about = {
        "ID": notice.id,
        "KIND": notice.kind.value,
        "TITLE": notice.title,
        "MESSAGE": notice.message,
        "TASK": "" if notice.task_id is None else str(notice.task_id),
    }
    passed = {name: value for name, value in environ.items() if not name.upper().endswith(_NOT_PASSED_ON)}
    return {**passed, **{f"NIGHTSHIFT_NOTICE_{name}": value.replace("\0", "") for name, value in about.items()}}


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of the header `X-Nightshift-Signature`."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


async def post(url: str, secret: str, text: Written, timestamp: int, *, wall_s: float = POST_S) -> str:
    """Post a notice; return the error, empty when the receiver accepted it (any status from 200 to 299).

    Args:
        url: the address; it may be a secret itself and is in no message.
        secret: the key of the signature; empty sends none.
        text: the notice.
        timestamp: now, in seconds since 1970.
        wall_s: timeout of the whole request in seconds.
    """
    import aiohttp  # noqa: PLC0415 - slow to import, and most owners have no URL

    at = str(timestamp)
    signed = {"X-Nightshift-Signature": signature(secret, at, text.body)} if secret else {}
    headers = {**text.headers, "User-Agent": "Nightshift", "X-Nightshift-Timestamp": at, **signed}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=wall_s), trust_env=False) as session,
            session.post(url, data=text.body, headers=headers, allow_redirects=False) as answer,
        ):
            status = answer.status
    except TimeoutError:
        return f"the URL gave no answer within {wall_s:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f"the URL does not answer: {type(error).__name__}"
    if 300 <= status < 400:
        return f"the URL redirects elsewhere (HTTP {status}), which is refused"
    return "" if 200 <= status < 300 else f"the URL answered with HTTP {status}"
