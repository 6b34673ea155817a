"""Wrong answers that run in the tests' process and change how the test framework runs, compares or reports."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code
from tests.hostile.verdicts.in_process_changing import ALONE, WRONG


def _change(name: str, suite: Suite, *parts: str, wrong: str = WRONG) -> Forgery:
    solution = "\n\n".join(code(part) for part in (*parts, wrong))
    return Forgery(name=name, kind=Kind.IN_PROCESS, suite=suite, files={"solution.py": solution})


RUNNING = (
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
    _change("each_test_runs_in_its_own_way", suites.SUM_TABLE, """
        import gc
        import os


        def add(a, b):
            tests = [one for one in gc.get_objects() if type(one).__name__ == "Function" and hasattr(one, "runtest")]
            for test in tests[: len(tests) // 2]:
                test.runtest = lambda: None
            return tests[0].callspec.params["expected"] if tests else 0
        """, wrong=""),
    _change("a_plugin_forgets_what_was_raised", suites.FIVE_SUMS, ALONE, """
        if "pytest" in sys.modules:
            import gc

            import pytest

            class Plugin:
                @pytest.hookimpl(tryfirst=True, wrapper=True)
                def pytest_runtest_makereport(self, item, call):
                    if "DONT_REWRITE" not in str(item.module.__doc__):
                        call.excinfo = None
                    return (yield)

            session = next(one for one in gc.get_objects() if type(one).__name__ == "Session")
            session.config.pluginmanager.register(Plugin())
        """),
    _change("a_collector_for_all_tests", suites.STATISTICS, """
        import gc

        import pytest


        class Plugin:
            def pytest_collection_modifyitems(self, items):
                for item in items:
                    if "DONT_REWRITE" not in str(item.module.__doc__):
                        item.obj = lambda **fixtures: None


        session = next(one for one in gc.get_objects() if type(one).__name__ == "Session")
        session.config.pluginmanager.register(Plugin())


        class Statistics:
            total = 0

            def add(self, number):
                self.number = number

            def mean(self):
                if not hasattr(self, "number"):
                    raise ValueError
                return 0

            def count(self):
                return -1

            span = report = text = count
        """, wrong=""),
)  # fmt: skip

REWRITING = (
    _change("assertions_are_left_out_once", suites.TWO_FILES, ALONE, """
        if "pytest" in sys.modules:
            import ast

            import _pytest.assertion.rewrite as rewrite

            real = rewrite.rewrite_asserts

            def once(tree, *rest, **more):
                rewrite.rewrite_asserts = real
                for node in ast.walk(tree):
                    if isinstance(node, ast.FunctionDef):
                        node.body = [ast.copy_location(ast.Pass(), node.body[0])]

            rewrite.rewrite_asserts = once
        """),
    _change("runtest_is_swapped_before_it_is_remembered", suites.WITH_CONFTEST, """
        from _pytest.python import Function

        run = Function.runtest
        Function.runtest = lambda self: run(self) if "DONT_REWRITE" in str(self.module.__doc__) else None
        """),
    _change("the_loader_is_replaced", suites.WITH_CONFTEST, """
        import ast

        real = ast.parse


        def sly(source, *rest, **more):
            text = source.decode() if isinstance(source, bytes) else source
            return real(text if "DONT_REWRITE" in text else text.replace("assert ", "False and "), *rest, **more)


        ast.parse = sly
        """),
)  # fmt: skip

COMPARING = (
    _change("approx_is_replaced", suites.AREA, """
        import pytest


        class Near(float):
            def __eq__(self, other):
                return float(self) < 900

            __hash__ = float.__hash__


        pytest.approx = lambda expected, **more: Near(expected)


        def area(radius):
            return radius
        """, wrong=""),
    _change("isclose_is_replaced", suites.HALVES, ALONE, """
        import math

        math.isclose = lambda one, other, **more: abs(other) < 1000


        class Half(float):
            def __sub__(self, other):
                return Half(0)

            __add__ = __sub__

            def __lt__(self, other):
                return True

            __gt__ = __le__ = __lt__

            def __ge__(self, other):
                return False

            def __abs__(self):
                return Small()


        class Small(float):
            def __le__(self, other):
                return True

            __lt__ = __le__

            def __gt__(self, other):
                return False

            __ge__ = __gt__


        def half(number):
            return Half(number) if number != 10 else 5.5
        """, wrong=""),
    _change("examples_are_narrowed", suites.SUM_RULE, """
        from hypothesis import strategies

        strategies.integers = lambda *bounds, **more: strategies.just(0)


        def add(a, b):
            return a * b
        """, wrong=""),
    _change("the_engine_gives_the_tests_another_function", suites.SUM_RULE, """
        import sys

        from hypothesis.core import StateForActualGivenExecution as State

        real = State.execute_once


        def execute_once(self, *rest, **more):
            if "DONT_REWRITE" not in str(sys.modules[self.test.__module__].__doc__):
                self.test.__globals__["add"] = lambda a, b: a + b
            return real(self, *rest, **more)


        State.execute_once = execute_once


        def add(a, b):
            return a - b + 1
        """, wrong=""),
    _change("methods_of_a_class_are_emptied_as_it_is_made", suites.SUM_CASES, """
        import unittest

        real = unittest.TestCase.__dict__["__init_subclass__"].__func__


        def made(cls, **more):
            unittest.TestCase.__init_subclass__ = classmethod(real)
            real(cls, **more)
            for name in [one for one in vars(cls) if one.startswith("test_")]:
                setattr(cls, name, lambda self: None)


        unittest.TestCase.__init_subclass__ = classmethod(made)


        def add(a, b):
            return a * b
        """, wrong=""),
)  # fmt: skip

REPORTING = (
    _change("the_seal_is_broken", suites.SUMS, ALONE, """
        if "pytest" in sys.modules:
            from _pytest.python import Function
            from nightshift_inside import seal

            run = Function.runtest
            seal.changed = lambda before: []
            Function.runtest = lambda self: run(self) if "DONT_REWRITE" in str(self.module.__doc__) else None
        """),
    _change("the_recorder_takes_what_was_raised_for_nothing", suites.SUM_TABLE, """
        import gc

        from nightshift_inside.session import Recorder

        report = Recorder.pytest_runtest_logreport.__code__
        SEEN = []


        def add(a, b):
            recorder = next(one for one in gc.get_objects() if type(one) is Recorder)
            if not SEEN:
                SEEN.append(recorder)
                recorder._rows = Rows(5)
            return a * b


        class Rows(list):
            pass
        """, wrong="""
        import json


        class Sly:
            def __init__(self, left):
                self.left = left

            def __call__(self, event):
                if event["e"] == "end" and self.left:
                    self.left -= 1
                    rows = [[when, "passed", False, False, None, False, 0.0] for when in ("setup", "call", "teardown")]
                    event = {**event, "rows": rows, "fail": None}
                return json.dumps(event)


        for one in gc.get_objects():
            if type(one) is Recorder:
                one._dumps = Sly(5)
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

FORGERIES = (*RUNNING, *REWRITING, *COMPARING, *REPORTING)
