"""Runs the owner's command for a notice, or the desktop's: no shell, bounded, and nothing outlives its time."""

from __future__ import annotations

import asyncio
import contextlib
import html
import os
import signal
from collections.abc import Mapping, Sequence

from core.masking import printable
from maintenance.notify.notices import Notice

WALL_S = 30.0
KEPT_BYTES = 2000
_NOT_PASSED_ON = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def for_desktop(notice: Notice) -> tuple[str, ...]:
    """What shows the notice on the desktop; a notification's text may hold markup, so that of ours is escaped."""
    text = html.escape(notice.message or "\n".join(notice.lines), quote=False)
    return "notify-send", "--app-name=Nightshift", "--", notice.title, text


async def run_command(
    argv: Sequence[str], notice: Notice, environ: Mapping[str, str], *, wall_s: float = WALL_S
) -> str:
    """Run it with the notice as JSON on its standard input; returns what went wrong, empty when it ended with 0.

    Args:
        argv: the program and its arguments, as they are.
        notice: also in `NIGHTSHIFT_NOTICE_ID`, `_KIND`, `_TITLE`, `_MESSAGE` and `_TASK`.
        environ: the daemon's environment; what is named like a secret stays here.
        wall_s: after which it is ended, with all that it started in its session.
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
            said = await _fed(process, notice.as_json())
            code = await process.wait()
    except TimeoutError:
        return f"{argv[0]} did not end within {wall_s:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return f"{argv[0]} ended with {code}: {printable(said).strip()[:300]}".rstrip(": ") if code else ""


async def _fed(process: asyncio.subprocess.Process, text: bytes) -> bytes:
    """Hand the text over while reading; the beginning of what it says."""
    assert process.stdin is not None
    assert process.stdout is not None
    kept = bytearray()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is given
        process.stdin.write(text)
        process.stdin.close()
    while chunk := await process.stdout.read(1 << 16):
        kept += chunk[: KEPT_BYTES - len(kept)]
    return bytes(kept)


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
