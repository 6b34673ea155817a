"""Reads the clipboard through the program that a desktop has for it."""

from __future__ import annotations

import shutil
import subprocess

from nightshift.core.errors import NightshiftError
from nightshift.core.program import typed
from nightshift.core.text.masking import printable

PROGRAMS = (
    ("pbpaste",),
    ("wl-paste", "--no-newline", "--type", "text"),
    ("xclip", "-selection", "clipboard", "-out"),
    ("xsel", "--clipboard", "--output"),
    ("termux-clipboard-get",),
    ("powershell.exe", "-NoProfile", "-Command", "Get-Clipboard"),
)
"""In this order; one that is installed may still fail, as `wl-paste` does under X11."""
WAIT_S = 10.0


def clipboard_text() -> str:
    """Read the text of the clipboard.

    Raises:
        NightshiftError: nothing, no text, or it cannot be read; says what to install where no program is there.
    """
    installed = [(program, *rest) for name, *rest in PROGRAMS if (program := shutil.which(name))]
    if not installed:
        raise NightshiftError(
            "the clipboard cannot be read: install wl-clipboard (Wayland), xclip or xsel (X11); "
            f"or pipe the text: … | {typed('add -')}"
        )
    faults = []
    for command in installed:
        try:
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=WAIT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            faults.append(f"{command[0]}: {type(error).__name__}")
            continue
        if done.returncode == 0:
            return _text(done.stdout)
        faults.append(f"{command[0]}: {printable(done.stderr, max_chars=200).strip() or f'exit {done.returncode}'}")
    raise NightshiftError(f"the clipboard cannot be read: {'; '.join(faults)}")


def _text(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n").strip()
    except UnicodeDecodeError:
        raise NightshiftError("the clipboard has no text") from None
    if not text:
        raise NightshiftError("the clipboard is empty, and nothing is added")
    return text
