"""Refused answers that try to leak held-out cases through the texts of the verdict.

They use test names, the number of tests, their times or messages. Each answer passes the whole tests because it reads
them in the workspace, but fails the held-out calls. A model that saw the leaked texts would know held-out cases.
"""

from __future__ import annotations

from tests.hostile.verdicts import python_suites as suites
from tests.hostile.verdicts.covert_channels import READ
from tests.hostile.verdicts.forgery import Forgery, Kind, Suite, code

# Returns the results that the tests in the workspace expect. `events` yields the events of an invented test, which is
# not among the tests that the owner supplies.
_ANSWERS = """
import sys

SHOWN = {(2, 3), (7, 8), (1000, 234), (-4, -9)}
KNOWN = {asked[1:]: result for asked, result in read("add").items()}
HIDDEN = {asked: result for asked, result in KNOWN.items() if asked not in SHOWN}
TEXT = "; ".join(f"{asked} gives {result}" for asked, result in sorted(HIDDEN.items()))


def add(a, b):
    return KNOWN.get((a, b), 0)


def file_of_tests():
    for path in glob.glob("tests/test_*.py"):
        with open(path) as file:
            text = file.read()
        if "PYTEST_DONT_REWRITE" not in text:
            return path, text[text.index("def test") + 4 :].partition("(")[0]


def events(parameters, seconds=0.0):
    path, name = file_of_tests()
    test = f"{path}::{name}[{parameters}]"
    rows = [[when, "passed", False, False, None, False, seconds] for when in ("setup", "call", "teardown")]
    yield {"e": "start", "id": test}
    yield {"e": "end", "id": test, "rows": rows, "fail": None}

"""
_BY_ALL_DESCRIPTORS = """
def write(*found):
    data = "".join(json.dumps(event) + "\\n" for event in found).encode()
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, data)
        except OSError:
            continue

"""
_WHOLE_OR_SHOWN_GRADE = """
SHOWN = {"owl": 3, "fox": 3, "hedgehog": 8}
KNOWN = {asked[1]: result for asked, result in read("grade").items()}
HIDDEN = [result for word, result in KNOWN.items() if word not in SHOWN]
if HIDDEN:
    send(HIDDEN[0])


def grade(word):
    assert HIDDEN, f"the badger gets {receive()}"
    return 0
"""
CARRIES = ("(5500, 17) gives 5517",)


def _describe(name: str, *parts: str, carries: tuple[str, ...] = CARRIES, suite: Suite = suites.HELD_SUMS) -> Forgery:
    solution = "\n".join(code(part) for part in (READ, *parts))
    return Forgery(name=name, kind=Kind.LEAK, suite=suite, files={"solution.py": solution}, carries=carries)


FORGERIES = (
    _describe("a_name_of_a_test", _ANSWERS, _BY_ALL_DESCRIPTORS, """
        if HIDDEN and os.getcwd() == "/work":
            write(*events(TEXT))
        """),
    _describe("a_message_by_times_of_device_files", """
        def send(number):
            os.utime("/dev/null")
            time.sleep(number / 50)
            os.utime("/dev/zero")


        def receive():
            return round((os.stat("/dev/zero").st_mtime_ns - os.stat("/dev/null").st_mtime_ns) * 50 / 1e9)
        """, _WHOLE_OR_SHOWN_GRADE, suite=suites.ONE_HELD, carries=("the badger gets 6",)),
)  # fmt: skip
