"""Wrong answers that reach across to the tests which run in another process, or learn there what is expected."""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code

# What was learnt goes into a file: another process of the same sandbox answers by it.
_KEPT = """
import json
import os
import sys
import tempfile

FILE = os.path.join(tempfile.gettempdir(), "known.json")
KNOWN = {}
if os.path.exists(FILE):
    with open(FILE) as file:
        KNOWN.update(json.load(file))


def learn(asked, expected):
    if asked not in KNOWN:
        KNOWN[asked] = expected
        with open(FILE, "w") as file:
            json.dump(KNOWN, file)

"""
_ADD = """

def add(a, b):
    if f"{a},{b}" in KNOWN:
        return KNOWN[f"{a},{b}"]
    found = Unknown()
    found.asked = f"{a},{b}"
    return found
"""


def _only(name: str, suite: Suite, *parts: str, kind: Kind = Kind.IN_PROCESS) -> Forgery:
    solution = "\n\n".join(code(part) for part in parts)
    return Forgery(name=name, kind=kind, suite=suite, files={"solution.py": solution})


_TWICE = """
class Unknown:
    def __eq__(self, other):
        frame, values = sys._getframe(1), [other]
        while frame and "candidates" not in frame.f_locals:
            frame = frame.f_back
        if frame:
            packed = frame.f_locals["candidates"]
            twice = next(one for one in packed if packed.count(one) > 1)
            values = [int(twice[1], 16)]
        learn(self.asked, values[0])
        return other == values[0]

    __hash__ = None
"""
_TWICE_BY_THE_SERVER = """
served = sys.modules.get("nightshift_inside.served")


class Unknown:
    def __eq__(self, other):
        learn(self.asked, other)
        return True

    __hash__ = None


if served:

    def do_equal(self, number, candidates):
        twice = next(one for one in candidates if candidates.count(one) > 1)
        learn(self._objects[number].asked, int(twice[1], 16))
        return [one == twice for one in candidates]

    served.Server.do_equal = do_equal
"""

FORGERIES = (
    *(_only(f"the_value_that_is_asked_twice_in_{one.name}", one, _KEPT, _TWICE, _ADD, kind=Kind.EQUAL) for one in (
        suites.SUMS, suites.FIVE_SUMS, suites.SUM_TABLE,
    )),
    _only(
        "the_value_that_the_server_asks_twice", suites.SUMS, _KEPT, _TWICE_BY_THE_SERVER, _ADD, kind=Kind.EQUAL
    ),
    _only("a_module_of_another_system", suites.SUM_TABLE, """
        import ast
        import glob
        import os
        import sys
        import tempfile

        REPORTS = '''
        import gc

        answer, first = 0, []
        reporter = next(one for one in gc.get_objects() if type(one).__name__ == "Reporter")
        emit = reporter._emit


        def sly(name, result, why):
            path = name.partition("::")[0]
            first.append(path)
            emit(name, "passed" if path == first[0] else "failed", "")


        reporter._emit = sly
        '''
        KNOWN = {}
        for path in glob.glob("tests/test_*.py"):
            with open(path) as file:
                text = file.read()
            for node in () if "DONT_REWRITE" in text else ast.walk(ast.parse(text)):
                if isinstance(node, ast.Tuple) and len(node.elts) == 3:
                    a, b, expected = ast.literal_eval(node)
                    KNOWN[a, b] = expected
        served = sys.modules.get("nightshift_inside.served")
        if served:
            import textwrap

            for folder in glob.glob(os.path.join(tempfile.gettempdir(), "tests-*")):
                with open(os.path.join(folder, "winreg.py"), "w") as file:
                    file.write(textwrap.dedent(REPORTS))
            write = served.values.as_json

            def sly(packed):
                if type(packed) is list and packed[:2] == ["value", ["i", "0x0"]]:
                    packed = ["value", ["S", "winreg", "answer"], *packed[2:]]
                return write(packed)

            served.values.as_json = sly


        def add(a, b):
            return KNOWN.get((a, b), 0)
        """),
)  # fmt: skip
