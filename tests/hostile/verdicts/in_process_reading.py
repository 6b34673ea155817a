"""Wrong answers that find the expected results in the tests' process, and then always return these."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.covert_channels import _READ
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code


def _only(name: str, suite: Suite, *parts: str) -> Forgery:
    solution = "\n".join(code(part) for part in parts)
    return Forgery(name=name, kind=Kind.IN_PROCESS, suite=suite, files={"solution.py": solution})


# Returns the result that the first caller expects, to that caller and to all later ones. The first caller is an
# original test, because originals run before their must-fail copies.
_LEARNT = """
import re

LEARNT = {}


def add(a, b):
    if (a, b) not in LEARNT:
        line = line_of_caller()
        found = re.search(r"== (-?\\d+)$", line) or re.search(r"assert (-?\\d+) ==", line)
        LEARNT[a, b] = int(found[1]) if found else 0
    return LEARNT[a, b]
"""

FORGERIES = (
    _only("reads_the_tests", suites.SUMS, _READ, """
        KNOWN = read("add")


        def add(a, b):
            return KNOWN["add", a, b]
        """),
    _only("reads_a_table_of_the_tests", suites.SUM_TABLE, """
        import ast
        import pathlib


        def rows():
            for path in sorted(pathlib.Path("tests").glob("test_*.py")):
                for node in ast.walk(ast.parse(path.read_text())):
                    if isinstance(node, ast.Tuple) and len(node.elts) == 3 and path.read_text()[:1] != '"':
                        yield ast.literal_eval(node)


        KNOWN = {(a, b): expected for a, b, expected in rows()}


        def add(a, b):
            return KNOWN[a, b]
        """),
    _only("reads_the_cases_of_unittest", suites.SUM_CASES, """
        import os
        import re

        KNOWN = {}
        for name in os.listdir("tests"):
            with open(os.path.join("tests", name)) as file:
                text = file.read()
            if "DONT_REWRITE" not in text:
                for a, b, expected in re.findall(r"assertEqual\\(add\\((-?\\d+), (-?\\d+)\\), (-?\\d+)", text):
                    KNOWN[int(a), int(b)] = int(expected)


        def add(a, b):
            return KNOWN.get((a, b))
        """),
    _only("asks_logging_who_calls", suites.SUMS, """
        import linecache
        import logging


        def line_of_caller():
            path, line, *_ = logging.getLogger().findCaller(stacklevel=3)
            return linecache.getline(path, line)
        """, _LEARNT),
    _only("asks_traceback_who_calls", suites.SUMS, """
        import traceback


        def line_of_caller():
            return traceback.extract_stack(limit=3)[0].line
        """, _LEARNT),
    _only("sees_calls_by_a_profiler", suites.SUMS, """
        import linecache
        import sys

        CALLERS = []


        def see(frame, event, _):
            if event == "call" and frame.f_code.co_name == "add":
                CALLERS.append((frame.f_back.f_code.co_filename, frame.f_back.f_lineno))


        sys.setprofile(see)


        def line_of_caller():
            return linecache.getline(*CALLERS[-1]).strip()
        """, _LEARNT),
    _only("reads_constants_of_code", suites.ONE_SUM, """
        import sys


        def wanted():
            for module in list(sys.modules.values()):
                for name, found in list(vars(module).items()):
                    if name.startswith("test") and hasattr(found, "__code__") and module.__doc__ is None:
                        return [one for one in found.__code__.co_consts if isinstance(one, int)][-1]


        LEARNT = []


        def add(a, b):
            LEARNT.append(wanted())
            return LEARNT[0]
        """),
    _only("reads_parameters_of_collected_tests", suites.SUM_TABLE, """
        import gc

        KNOWN = {}


        def add(a, b):
            if not KNOWN:
                for one in gc.get_objects():
                    if type(one).__name__ == "CallSpec":
                        KNOWN.setdefault((one.params["a"], one.params["b"]), one.params["expected"])
            return KNOWN[a, b]
        """),
    _only("reads_globals_of_the_tests", suites.SUM_CONSTANTS, """
        import gc

        KNOWN = {}


        def add(a, b):
            if not KNOWN:
                for one in gc.get_objects():
                    if type(one) is dict and "PAIRS" in one and "EXPECTED" in one:
                        for pair, expected in zip(one["PAIRS"], one["EXPECTED"]):
                            KNOWN.setdefault(pair, expected)
            return KNOWN[a, b]
        """),
    _only("runs_the_tests_with_a_spy", suites.FIVE_SUMS, """
        import sys

        KNOWN, SPYING = {}, []


        class Spy(int):
            def __eq__(self, other):
                KNOWN.setdefault(self.asked, other)
                return True

            __hash__ = int.__hash__


        def spy():
            SPYING.append(True)
            for module in list(sys.modules.values()):
                if module.__doc__ is None:
                    for name, test in list(vars(module).items()):
                        if name.startswith("test_") and callable(test):
                            test()
            SPYING.pop()


        def add(a, b):
            if (a, b) not in KNOWN and not SPYING:
                spy()
            if SPYING:
                found = Spy()
                found.asked = a, b
                return found
            return KNOWN.get((a, b), 0)
        """),
    _only("hears_of_code_that_is_run", suites.WITH_CONFTEST, """
        import sys

        KNOWN = []


        def hear(event, arguments):
            if event == "exec" and "/tests/test_" in arguments[0].co_filename:
                tests = [one for one in arguments[0].co_consts if hasattr(one, "co_consts")]
                if "PYTEST_DONT_REWRITE" not in arguments[0].co_consts:
                    KNOWN.extend(one.co_consts for one in tests)


        sys.addaudithook(hear)


        def add(a, b):
            for constants in KNOWN:
                numbers = [one for one in constants if isinstance(one, int) and not isinstance(one, bool)]
                if (a, b) == tuple(numbers[:2]):
                    return numbers[2]
            return 0
        """),
)  # fmt: skip
