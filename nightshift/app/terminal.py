"""The daemon's terminal: standard streams, which may close before the daemon ends, and the message at the start.

A reader that is gone (a closed terminal, `main.py | head`) must not end the daemon. Python ignores SIGPIPE, so a write
raises an error, and the stream is then replaced by the null device. A reader that is stuck (a full pipe, a stopped
terminal) must not block the daemon. Output therefore goes through a pipe of our own, which a thread empties, and output
that does not fit is dropped. Descriptors that were closed at the start are opened on the null device. Otherwise a
database could be opened under the descriptor of standard output, and printed text would be written into it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from nightshift.core.built_in import BUILT_IN
from nightshift.core.program import program
from nightshift.core.status import DaemonStatus, ModelStatus, sandbox_in_brief
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.tasks.states import Status
from nightshift.models.model_table import PULL

_STREAMS = (0, 1, 2)
# How many seconds to wait at exit for the last output to be copied.
FLUSH_S = 1.0


def fill_streams() -> None:
    """Open each closed standard stream on the null device."""
    for descriptor in _STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            _to_nowhere(descriptor)


@contextlib.contextmanager
def free_streams() -> Iterator[None]:
    """Ensure that writes to standard output and error never wait for their reader; restore both streams at the end."""
    pumps = [_Pump(descriptor) for descriptor in _STREAMS[1:]]
    try:
        yield
    finally:
        for pump in pumps:
            pump.close()


class _Pump:
    """Copies everything written to a descriptor to its original target."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._target = descriptor, os.dup(descriptor)
        source, sink = os.pipe()
        os.set_blocking(sink, False)
        os.dup2(sink, descriptor)
        os.close(sink)
        self._thread = threading.Thread(target=self._copy, args=(source,), name=f"stream-{descriptor}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Restore the descriptor, and wait a moment for pending output."""
        stream = sys.stdout if self._descriptor == 1 else sys.stderr
        if stream:  # None: the stream was closed when Python started
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os.dup2(self._target, self._descriptor)
        self._thread.join(FLUSH_S)

    def _copy(self, source: int) -> None:
        while data := os.read(source, 1 << 16):
            with contextlib.suppress(OSError):  # the reader is gone
                while data:
                    data = data[os.write(self._target, data) :]


def show(text: str) -> None:
    """Print a text; if the reader is gone, write to the null device from then on."""
    try:
        print(text, flush=True)
    except BlockingIOError:  # the reader is stuck
        return
    except (OSError, ValueError):  # the reader is gone, or the stream is closed
        _to_nowhere(1)


def _to_nowhere(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != descriptor:  # `open` returns the lowest free descriptor, which may be the closed one
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


ENGINE_ALONE = (
    "No model answers yet, so the built-in engine works alone. It needs no model: it fixes Python code whose tests",
    "fail, and fills small stubs that have examples. All other tasks wait for a model, and then continue.",
)
_OPEN = (Status.QUEUED, Status.SCHEDULED, Status.BLOCKED, Status.SHARED, Status.WAITING)
NOBODY = ("No model answers yet. Tasks wait until one does, and then continue.",)
HOW_TO_GET_ONE = (
    "Any of these will do:",
    f"  - Ollama on this machine: install it, then {PULL}",
    "  - a key: OPENAI_API_KEY (with OPENAI_BASE_URL for any compatible endpoint), ANTHROPIC_API_KEY or GEMINI_API_KEY",
    "  - a GGUF file: LLAMA_CPP_MODEL_PATH=/path/to/model.gguf, or GPT4ALL_MODEL_PATH for GPT4All",
)


def startup_message(status: DaemonStatus, url: str, before: str = "", entrance: str = "") -> str:
    """Return the message at the start as plain text.

    `before` says how the last run ended, and `entrance` says which token is required.
    """
    return "\n".join(_lines(status, url, before, entrance))


def status_line(status: DaemonStatus) -> str:
    """Describe the daemon's current work in one line for the service manager."""
    waiting = {name: count for name, count in status.queue.items() if count and name in _OPEN}
    rest = f", {', '.join(f'{count} {name}' for name, count in waiting.items())}" if waiting else ""
    return f"{status.overall.text}{rest}"


def _lines(status: DaemonStatus, url: str, before: str, entrance: str) -> Iterator[str]:
    yield f"Nightshift {status.version} is up ({status.overall.text}): {url}"
    yield from filter(None, [entrance])
    yield ""
    yield from (_model(model) for model in status.models)
    yield from _sandbox(status)
    yield f"  embedder   {status.embedder}"
    yield f"  workspace  {status.workspace}"
    waiting = {name: count for name, count in status.queue.items() if count}
    yield f"  queue      {', '.join(f'{count} {name}' for name, count in waiting.items()) or 'empty'}"
    yield ""
    there = {model.name for model in status.models if model.available}
    if not there - {BUILT_IN}:
        yield from ENGINE_ALONE if there else NOBODY
        yield from HOW_TO_GET_ONE
        yield ""
    yield from filter(None, [before])
    yield from (_hold(hold) for hold in status.holds)
    yield from status.notices
    yield "Give it a task: edit tasks.yaml, open the dashboard, or type"
    yield f'  {program()} "Write slugify(text) with tests"'


def _model(model: ModelStatus) -> str:
    state = "answers" if model.available else "not here"
    detail = f" ({model.detail})" if model.detail else ""
    name = " ".join(filter(None, (model.name, model.model)))
    return f"  model      {name}: {state}{detail}"


def _hold(hold: PauseReason) -> str:
    why = f" ({hold.reason})" if hold.reason else ""
    return f"{hold.label}{why}: no task is started. It continues {hold.lifted_by}."


def _sandbox(status: DaemonStatus) -> Iterator[str]:
    """Yield one line for a working sandbox, and all findings if there is none."""
    first, *failed = sandbox_in_brief(status.sandbox_detail)
    yield f"  sandbox    {first if status.sandbox else f'none: {first}'}"
    yield from (f"             {line}" for line in failed)
