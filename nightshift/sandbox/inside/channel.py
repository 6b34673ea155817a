"""The channel of a run: an inherited pipe to the trusted parent, and a secret that each line bears.

Reporters of all runners write into it; what they write is described in `recorder`.
"""

import json
import os

from . import VARIABLE

OPTIONS = f"-p {__package__}.recorder -p no:randomly --continue-on-collection-errors --maxfail=0"
"""Options for pytest besides the owner's words; of several options of a kind the owner's last word does not count."""


def environment(descriptor, settings, environ):
    """The variables that have pytest load the recorder, however it is started.

    Args:
        descriptor: of the channel.
        settings: `secret`, and what `Recorder` takes.
        environ: those of the run.
    """
    words = " ".join(filter(None, (OPTIONS, environ.get("PYTEST_ADDOPTS"))))
    text = json.dumps({"fd": descriptor, "addopts": environ.get("PYTEST_ADDOPTS"), **settings})
    return {**environ, "PYTEST_ADDOPTS": words, VARIABLE: text}


def take():
    """Take what a recorder is told out of the environment, so that programs which tests start find the owner's own.

    Returns:
        None where no run is recorded in this process.
    """
    settings = json.loads(os.environ.pop(VARIABLE, "null"))
    if settings is not None:
        restore_options(settings)
    return settings


def restore_options(settings):
    """Have the owner's own options for pytest in the environment."""
    os.environ.pop("PYTEST_ADDOPTS", None)
    if settings["addopts"] is not None:
        os.environ["PYTEST_ADDOPTS"] = settings["addopts"]


class Pipe:
    """A named pipe for the events of one run, because programs between us and the tests hand no descriptor on."""

    def __init__(self):
        folder = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 (of the sandbox)
        self.path = os.path.join(folder, f"report-{os.urandom(8).hex()}")  # noqa: PTH118
        os.mkfifo(self.path, 0o600)

    def attach(self, child):
        """Have a child's events come from the pipe, which has an end only when we close it."""
        os.close(child.events)
        child.events = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self):
        """Take the pipe away."""
        os.unlink(self.path)  # noqa: PTH108


class Channel:
    """Writes events into the pipe, an inherited one or a named one where programs in between pass none on."""

    def __init__(self, settings):
        path = settings.pop("path", None)
        self._descriptor = settings.pop("fd") if path is None else os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._secret = settings.pop("secret").encode()
        self._write, self._dumps = os.write, json.dumps

    def send(self, event):
        """Write one event."""
        text = self._secret + self._dumps(event, separators=(",", ":")).encode() + b"\n"
        while text:
            text = text[self._write(self._descriptor, text) :]
