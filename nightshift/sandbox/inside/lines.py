"""Records which lines of test files run, up to a limit, by `sys.monitoring` if available, otherwise by tracing."""

import os
import sys

CALLS = 20_000
"""Maximum number of calls that are traced for one test. If a test makes more calls, its lines are not known."""
FOLDERS = ("/tests/", "/test/", "/testing/")


class Lines:
    """Records the lines of one test at a time.

    Args:
        root: the folder of the tree, with a slash at its end.
        traced: True if lines are wanted at all.
    """

    def __init__(self, root, *, traced):
        self._root, self._traced = root, traced
        self._tests, self._seen, self._calls = {}, set(), 0
        self._spent, self._local, self._threshold = False, self._note, CALLS
        self._monitoring = _Monitoring(self) if traced and hasattr(sys, "monitoring") else None

    def add_test(self, name):
        """Treat a file as a test file, whatever its name is."""
        self._tests[name] = True

    def is_test(self, name):
        """Check by its path whether a file is a test file, or is in a folder for tests."""
        is_test_file = self._tests.get(name)
        if is_test_file is None:
            base, own = os.path.basename(name), name[len(self._root) - 1 :]  # noqa: PTH119 (pathlib is slow to import)
            by_name = base.startswith(("test_", "conftest")) or base.endswith("_test.py")
            inside = name.startswith(self._root) and (by_name or any(folder in own for folder in FOLDERS))
            is_test_file = self._tests[name] = inside
        return is_test_file

    def begin(self, name):
        """Start recording. `name` is the path of the file that contains the test."""
        self.add_test(name)
        self._seen, self._calls, self._spent = set(), 0, False
        if self._monitoring:
            self._monitoring.begin()
        elif self._traced and sys.gettrace() is None:
            sys.settrace(self._trace)
        else:
            self._spent = True

    def end(self):
        """Stop recording."""
        if self._monitoring:
            self._monitoring.end()
        elif sys.gettrace() == self._trace:
            sys.settrace(None)

    def take(self):
        """Return the lines that ran since `begin`, as `path:line`; empty if they are not known."""
        seen, self._seen = self._seen, set()
        return [] if self._spent else sorted(f"{name.removeprefix(self._root)}:{line}" for name, line in seen)

    def note(self, code, line):
        """Record a line of a test file."""
        self._seen.add((code.co_filename, line))

    def _trace(self, frame, _event, _argument):
        self._calls += 1
        if self._calls > self._threshold:
            self._spent = True
            sys.settrace(None)
            return None
        code = frame.f_code
        if not self.is_test(code.co_filename):
            return None
        self._seen.add((code.co_filename, frame.f_lineno))
        return self._local

    def _note(self, frame, event, _argument):
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._local


class _Monitoring:
    """Records lines by events of `sys.monitoring`, which cost nothing outside of tests."""

    def __init__(self, lines):
        self._tool, self._lines = sys.monitoring.PROFILER_ID + 1, lines
        self._is_free = sys.monitoring.get_tool(self._tool) is None
        if self._is_free:
            sys.monitoring.use_tool_id(self._tool, "nightshift")
            sys.monitoring.register_callback(self._tool, sys.monitoring.events.LINE, self._line)

    def begin(self):
        if self._is_free:
            sys.monitoring.set_events(self._tool, sys.monitoring.events.LINE)

    def end(self):
        if self._is_free:
            sys.monitoring.set_events(self._tool, 0)

    def _line(self, code, line):
        if not self._lines.is_test(code.co_filename):
            return sys.monitoring.DISABLE
        self._lines.note(code, line)
        return None
