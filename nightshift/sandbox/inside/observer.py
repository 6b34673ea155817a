"""Observes what happens in a run besides the tests' results: files opened, lines run and functions replaced."""
# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH100, PTH109

import contextlib
import os
import sys

from . import lines, seal

MESSAGE, FRAMES, SHORT = 4000, 40, 300
MOST_READ = 2000


class Observer:
    """Observes one run, in the process that runs the tests.

    Args:
        channel: receives the events.
        settings: `preload` (modules that are imported first) and `traced` (True to record the lines of test files).
    """

    def __init__(self, channel, settings):
        self._channel, self._root = channel, os.getcwd() + os.sep
        self._read, self._opened = {}, set()
        self._lines = lines.Lines(self._root, traced=settings["traced"])
        for name in settings["preload"]:
            with contextlib.suppress(ImportError):
                __import__(name)
        if "hypothesis" in settings["preload"]:
            steady_hypothesis()
        self._seal = seal.take()
        self._usual = {*self._seal.changed()}  # functions that plugins replaced; all plugins are loaded by now
        self._calm = calm_hypothesis()
        sys.addaudithook(self._hear)

    def _emit(self, **event):
        self._channel.send(event)

    def _short(self, path):
        return path.removeprefix(self._root)

    def _hear(self, event, arguments):
        """Record each file of the tree that is opened, and whether the innermost caller in the tree is a test file."""
        if event != "open" or not isinstance(arguments[0], str) or len(self._read) + len(self._opened) > MOST_READ:
            return
        path = os.path.abspath(arguments[0])
        if not path.startswith(self._root) or path.endswith((".py", ".pyc")):
            return
        frame = sys._getframe(1)  # noqa: SLF001 (there is no other way)
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self._root):
                if self._lines.is_test(name):
                    self._read.setdefault(path, name)
                else:
                    self._opened.add(path)
                return
            frame = frame.f_back

    def _finish(self, exit_code):
        """Report the observations and the end of the session."""
        changed = [name for name in self._seal.changed() if name not in self._usual]
        if self._calm is not None and calm_hypothesis() != self._calm:
            changed.append("hypothesis.settings")
        files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        own = sorted({self._short(name) for name in files if isinstance(name, str) and name.startswith(self._root)})
        read = {self._short(path): self._short(name) for path, name in self._read.items()}
        opened = sorted(map(self._short, self._opened))
        self._emit(e="seen", read=read, opened=opened, modules=own, changed=changed[:20])
        self._emit(e="finish", exit=exit_code)


def calm_hypothesis():
    """Return Hypothesis's default settings, for tests that set none; None if Hypothesis is not loaded."""
    if "hypothesis" not in sys.modules:
        return None
    usual = getattr(sys.modules["hypothesis"].settings, "default", None)
    return None if usual is None else (usual.max_examples, str(usual.phases))


def steady_hypothesis():
    """Make Hypothesis use the same examples in every run, and no time limits."""
    from hypothesis import HealthCheck, settings  # noqa: PLC0415 (slow to import; only where tests use it)

    calm = {"database": None, "deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("judged", **calm)
    settings.load_profile("judged")


def details(raised, otherwise, workspace):
    """Describe an error by its kind, message and frames. Without an exception, the text `otherwise` is the message.

    Paths are relative to the workspace.
    """
    if raised is None:
        return {"kind": "Error", "message": otherwise[-MESSAGE:], "frames": []}
    if type(raised).__name__ == "CollectError" and raised.__cause__ is not None:
        raised = raised.__cause__
    try:
        message = str(raised)
    except Exception as error:  # noqa: BLE001 (a tested class may not be printable)
        message = f"(its message could not be made: {type(error).__name__})"
    return {"kind": type(raised).__name__, "message": message[:MESSAGE], "frames": _frames(raised, workspace)}


def in_short(fail):
    """Shorten a failure to the beginning of its message and to the two innermost frames in the workspace."""
    own = [frame for frame in fail["frames"] if not frame[0].startswith(("/", "<"))]
    return {**fail, "message": fail["message"][:SHORT], "frames": own[-2:]}


def _frames(raised, workspace):
    frames, trace = [], raised.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append([code.co_filename.removeprefix(workspace), trace.tb_lineno, code.co_name])
        trace = trace.tb_next
    if isinstance(raised, SyntaxError) and raised.filename:
        frames.append([str(raised.filename).removeprefix(workspace), raised.lineno or 0, "<module>"])
    return frames[-FRAMES:]
