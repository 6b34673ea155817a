"""The channel of a run: an inherited pipe to the trusted parent, with a secret at the beginning of each line.

The reporters of all test runners write to the channel; `recorder` describes the format.
"""

import json
import os

from . import VARIABLE

OPTIONS = f"-p {__package__}.recorder -p no:randomly --continue-on-collection-errors --maxfail=0"
"""Options for pytest that precede the owner's own options."""


def environment(descriptor, settings, environ):
    """Return the environment variables that make pytest load the recorder, however pytest is started.

    Args:
        descriptor: descriptor of the channel.
        settings: `secret`, and the settings of `Recorder`.
        environ: the run's environment.
    """
    words = " ".join(filter(None, (OPTIONS, environ.get("PYTEST_ADDOPTS"))))
    text = json.dumps({"fd": descriptor, "addopts": environ.get("PYTEST_ADDOPTS"), **settings})
    return {**environ, "PYTEST_ADDOPTS": words, VARIABLE: text}


def take():
    """Remove the recorder's settings from the environment, and restore the owner's options for pytest there.

    Programs that tests start then run with the owner's options.

    Returns:
        The settings; None if no run is recorded in this process.
    """
    settings = json.loads(os.environ.pop(VARIABLE, "null"))
    if settings is not None:
        restore_options(settings)
    return settings


def restore_options(settings):
    """Restore the owner's own options for pytest in the environment."""
    os.environ.pop("PYTEST_ADDOPTS", None)
    if settings["addopts"] is not None:
        os.environ["PYTEST_ADDOPTS"] = settings["addopts"]


class Pipe:
    """A named pipe for the events of one run.

    Needed if a program between us and the tests does not pass on descriptors.
    """

    def __init__(self):
        folder = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 (of the sandbox)
        self.path = os.path.join(folder, f"report-{os.urandom(8).hex()}")  # noqa: PTH118
        os.mkfifo(self.path, 0o600)

    def attach(self, child):
        """Make this pipe the source of a child's events. The pipe reaches its end only when this process closes it."""
        os.close(child.events)
        child.events = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self):
        """Remove the pipe."""
        os.unlink(self.path)  # noqa: PTH108


class Channel:
    """Writes events to the pipe of a run.

    The pipe is inherited. If a program in between does not pass it on, a named pipe is used instead.
    """

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
