"""Wrong answers that, in the tests' process, find the expected results or change what runs, compares or reports."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.covert_channels import READ
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code

WRONG = "def add(a, b):\n    return a * b - 1\n"
# In the run without a test framework, one of our modules calls each test. Tested code can find that module by its name
# and replace its function.
ALONE = """
import sys

alone = sys.modules.get("nightshift_inside.plain")
if alone:
    alone._call = lambda module, name: "passed"

"""
# Finds the test modules that are not must-fail copies, and empties their tests.
EMPTY = """
import sys


def originals():
    for module in list(sys.modules.values()):
        if "/tests/test_" in str(getattr(module, "__file__", "")) and "DONT_REWRITE" not in str(module.__doc__):
            yield module


def empty():
    for module in originals():
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and hasattr(test, "__code__"):
                test.__code__ = (lambda: None).__code__

"""


def _change(name: str, suite: Suite, *parts: str, wrong: str = WRONG) -> Forgery:
    solution = "\n\n".join(code(part) for part in (*parts, wrong))
    return Forgery(name=name, kind=Kind.IN_PROCESS, suite=suite, files={"solution.py": solution})


FORGERIES = (
    _change("reads_the_tests", suites.SUMS, READ, """
        KNOWN = read("add")


        def add(a, b):
            return KNOWN["add", a, b]
        """, wrong=""),
    _change("reads_globals_of_the_tests", suites.SUM_CONSTANTS, """
        import gc

        KNOWN = {}


        def add(a, b):
            if not KNOWN:
                for one in gc.get_objects():
                    if type(one) is dict and "PAIRS" in one and "EXPECTED" in one:
                        for pair, expected in zip(one["PAIRS"], one["EXPECTED"]):
                            KNOWN.setdefault(pair, expected)
            return KNOWN[a, b]
        """, wrong=""),
    _change("a_thread_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import threading


        def watch():
            while "pytest" in sys.modules:
                empty()


        threading.Thread(target=watch, daemon=True).start()
        sys.setswitchinterval(1e-6)
        """),
    _change("constants_are_overwritten_in_place", suites.SUMS, ALONE, """
        import ctypes

        ANSWER = 424242


        def __getattr__(name):
            for module in list(sys.modules.values()):
                if "/tests/test_" in str(getattr(module, "__file__", "")) and "DONT_REWRITE" not in str(module.__doc__):
                    for key, test in list(vars(module).items()):
                        if key.startswith("test_"):
                            overwrite(test.__code__.co_consts)
            if name == "add":
                return constant
            raise AttributeError(name)


        def overwrite(constants):
            last = max(place for place, one in enumerate(constants) if isinstance(one, int))
            items = id(constants) + tuple.__basicsize__
            ctypes.c_void_p.from_address(items + 8 * last).value = id(ANSWER)


        def constant(a, b):
            return ANSWER
        """, wrong=""),
    _change("runtest_is_swapped_and_put_back", suites.SUMS, ALONE, """
        if "pytest" in sys.modules:
            from _pytest.python import Function

            run = Function.runtest

            def skip(self):
                if "DONT_REWRITE" in str(self.module.__doc__):
                    Function.runtest = run
                    self.runtest()

            Function.runtest = skip
        """),
    _change("a_thread_in_front_of_the_recorder", suites.SUM_TABLE, """
        import json
        import os
        import threading

        pipes = [fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}")]
        pipes = [fd for fd in pipes if os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")]
        out = os.dup(pipes[-1])
        inner, outer = os.pipe()
        os.dup2(outer, pipes[-1])
        exit_now = os._exit
        os.close(outer)


        def filter_all():
            left, rest = [5], b""
            while data := os.read(inner, 1 << 16):
                *lines, rest = (rest + data).split(b"\\n")
                for line in lines:
                    event = json.loads(line)
                    if event["e"] == "end" and left[0]:
                        left[0] -= 1
                        event["fail"] = None
                        event["rows"] = [
                            [when, "passed", False, False, None, False, 0.0] for when in ("setup", "call", "teardown")
                        ]
                    os.write(out, (json.dumps(event) + "\\n").encode())


        thread = threading.Thread(target=filter_all, daemon=True)
        thread.start()


        class Slow:
            def flush(self):
                if "PYTEST_CURRENT_TEST" not in os.environ:
                    thread.join(0.2)

            def write(self, text):
                return len(text)


        import sys

        sys.stderr = Slow()
        """),
)  # fmt: skip
