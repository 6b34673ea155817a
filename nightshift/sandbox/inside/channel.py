"""The channel of a run: an inherited pipe to the trusted parent, and a secret that each line bears.

Reporters of all runners write into it; what they write is described in `recorder`.
"""

import json
import os

VARIABLE, NAME = "NIGHTSHIFT_RECORDER", f"{__package__}.recorder"
OPTIONS = f"-p {NAME} -p no:randomly --continue-on-collection-errors --maxfail=0"
"""What pytest is told besides the owner's words; of several options of a kind the owner's last word does not count."""


def environment(descriptor, told, environ):
    """The variables that have pytest load the recorder, however it is started.

    Args:
        descriptor: of the channel.
        told: `secret`, and what `Recorder` takes.
        environ: those of the run.
    """
    words = " ".join(filter(None, (OPTIONS, environ.get("PYTEST_ADDOPTS"))))
    text = json.dumps({"fd": descriptor, "addopts": environ.get("PYTEST_ADDOPTS"), **told})
    return {**environ, "PYTEST_ADDOPTS": words, VARIABLE: text}


class Channel:
    """Writes events into the pipe, an inherited one or a named one where programs in between pass none on."""

    def __init__(self, told):
        path = told.pop("path", None)
        self._descriptor = told.pop("fd") if path is None else os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._secret = told.pop("secret").encode()
        self._write, self._dumps = os.write, json.dumps

    def send(self, event):
        """Write one event."""
        text = self._secret + self._dumps(event, separators=(",", ":")).encode() + b"\n"
        while text:
            text = text[self._write(self._descriptor, text) :]
