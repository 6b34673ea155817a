"""Wrong answers that, in the tests' process, change the tests or the code that runs or compares for them."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
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


EMPTIED = (
    _change("a_thread_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import threading


        def watch():
            while "pytest" in sys.modules:
                empty()


        threading.Thread(target=watch, daemon=True).start()
        sys.setswitchinterval(1e-6)
        """),
    _change("the_garbage_collector_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import gc

        gc.callbacks.append(lambda phase, info: empty())
        gc.set_threshold(10)
        """),
    _change("a_profiler_empties_the_tests", suites.FIVE_SUMS, ALONE, EMPTY, """
        def profile(frame, event, argument):
            if event == "call" and frame.f_code.co_name == "pytest_runtest_call":
                empty()


        sys.setprofile(profile)
        """),
    _change("a_tracer_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        def trace(frame, event, argument):
            if frame.f_code.co_name == "pytest_runtest_setup":
                empty()


        sys.settrace(trace)
        """),
    _change("an_audit_hook_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import os


        def hear(event, arguments):
            if event == "os.putenv" and b"(setup)" in arguments[1]:
                empty()


        sys.addaudithook(hear)
        """),
    _change("a_timer_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import signal

        if "pytest" in sys.modules:
            signal.signal(signal.SIGALRM, lambda *_: empty())
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        """),
    _change("an_import_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        class Finder:
            def find_spec(self, name, path=None, target=None):
                empty()


        sys.meta_path.insert(0, Finder())
        """),
    _change("a_look_at_a_name_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        def __getattr__(name):
            empty()
            if name.startswith("__"):
                raise AttributeError(name)
            return product


        def product(a, b):
            return a * b - 1
        """, wrong=""),
    _change("a_finalizer_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import gc
        import weakref


        class Node:
            pass


        def drop():
            node = Node()
            node.itself = node
            weakref.finalize(node, again)


        def again():
            empty()
            drop()


        drop()
        gc.set_threshold(5)
        """),
    _change("an_object_that_dies_empties_the_tests", suites.FIVE_SUMS, ALONE, EMPTY, """
        import gc


        class Node:
            def __init__(self):
                self.itself = self

            def __del__(self):
                empty()
                Node()


        Node()
        gc.set_threshold(5)
        """),
    _change("a_class_of_a_module_empties_the_tests", suites.SUMS, ALONE, EMPTY, """
        import types


        class Sly(types.ModuleType):
            def __getattribute__(self, name):
                if name == "add":
                    empty()
                return super().__getattribute__(name)


        sys.modules[__name__].__class__ = Sly
        """),
    _change("tests_are_emptied_byte_by_byte", suites.SUMS, ALONE, """
        import ctypes
        import types


        def __getattr__(name):
            for module in list(sys.modules.values()):
                if "/tests/test_" in str(getattr(module, "__file__", "")) and "DONT_REWRITE" not in str(module.__doc__):
                    for key, test in list(vars(module).items()):
                        if key.startswith("test_"):
                            place = id(test.__code__) + types.CodeType.__basicsize__
                            ctypes.memmove(place + 2, bytes([100, 0, 83, 0]), 4)
            if name == "add":
                return product
            raise AttributeError(name)


        def product(a, b):
            return a * b - 1
        """, wrong=""),
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
    _change("constants_of_tests_are_replaced", suites.FIVE_SUMS, ALONE, EMPTY, """
        def __getattr__(name):
            for module in originals():
                for key, test in list(vars(module).items()):
                    if key.startswith("test_"):
                        found = test.__code__
                        new = [0 if type(one) is int else one for one in found.co_consts]
                        test.__code__ = found.replace(co_consts=tuple(new))
            if name == "add":
                return lambda a, b: 0
            raise AttributeError(name)
        """, wrong=""),
    _change("globals_of_the_tests_are_rewritten", suites.SUM_CONSTANTS, ALONE, EMPTY, """
        def __getattr__(name):
            for module in originals():
                vars(module).get("EXPECTED", [])[:] = [0, 0, 0]
            if name == "add":
                return lambda a, b: 0
            raise AttributeError(name)
        """, wrong=""),
    _change("parameters_of_tests_are_rewritten", suites.SUM_TABLE, """
        import gc


        def add(a, b):
            found = [one for one in gc.get_objects() if hasattr(one, "callspec") and type(one).__name__ == "Function"]
            wanted = found[0].callspec.params["expected"]
            for one in found[: len(found) // 2]:
                one.callspec.params["expected"] = 0
            return wanted
        """, wrong=""),
    _change("functions_of_a_test_are_hidden_by_others", suites.NEARLY, ALONE, EMPTY, """
        def __getattr__(name):
            for module in list(sys.modules.values()):
                if "/tests/test_" in str(getattr(module, "__file__", "")):
                    module.abs = lambda difference: 0
            if name == "half":
                return lambda number: 4711.0
            raise AttributeError(name)
        """, wrong=""),
    _change("a_class_of_tests_gets_its_own_checks", suites.SUM_CASES, EMPTY, """
        def __getattr__(name):
            for module in originals():
                for found in list(vars(module).values()):
                    if isinstance(found, type):
                        found.assertEqual = found.assertNotEqual = lambda self, *given: None
            if name == "add":
                return lambda a, b: a * b
            raise AttributeError(name)
        """, wrong=""),
)  # fmt: skip

FORGERIES = EMPTIED
