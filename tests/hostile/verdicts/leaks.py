"""Refused answers that try to leak held-out cases through the texts of the verdict.

They use test names, the number of tests, their times or messages. Each answer passes the whole tests because it reads
them in the workspace, but fails the held-out calls. A model that saw the leaked texts would know held-out cases.
"""

from __future__ import annotations

from tests.hostile.verdicts import held_suites as suites
from tests.hostile.verdicts.covert_channels import _COUNTED, _NOWAIT, _PAGES, _READ
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
_BY_PIPES = """
def write(*found):
    data = "".join(json.dumps(event) + "\\n" for event in found).encode()
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}").startswith("pipe:"):
                os.write(int(name), data)
        except OSError:
            continue

"""
_BY_THE_RECORDER = """
import gc


def recorder():
    return next(one for one in gc.get_objects() if type(one).__name__ == "Recorder")

"""
CARRIES = ("(5500, 17) gives 5517",)


def _describe(name: str, *parts: str, carries: tuple[str, ...] = CARRIES, suite: Suite = suites.HELD_SUMS) -> Forgery:
    solution = "\n".join(code(part) for part in (_READ, *parts))
    return Forgery(name=name, kind=Kind.LEAK, suite=suite, files={"solution.py": solution}, carries=carries)


NAMES = (
    _describe("a_name_of_a_test", _ANSWERS, _BY_ALL_DESCRIPTORS, """
        if HIDDEN and os.getcwd() == "/work":
            write(*events(TEXT))
        """),
    _describe("a_name_in_hexadecimal", _ANSWERS, _BY_PIPES, """
        if HIDDEN and os.getcwd() == "/work":
            write(*events(TEXT.encode().hex()))
        """, carries=(b"(5500, 17) gives 5517".hex(),)),
    _describe("one_name_for_each_case", _ANSWERS, _BY_PIPES, """
        if os.getcwd() == "/work":
            for (a, b), result in HIDDEN.items():
                write(*events(f"{a}+{b}={result}"))
        """, carries=("5500+17=5517",)),
    _describe("the_text_of_the_tests_in_pieces", _ANSWERS, _BY_PIPES, """
        if HIDDEN and os.getcwd() == "/work":
            with open(file_of_tests()[0]) as file:
                text = file.read()
            for place in range(0, len(text), 200):
                write(*events(text[place : place + 200]))
        """, carries=("(5500, 17) == 5517",)),
    _describe("times_of_tests", _ANSWERS, _BY_PIPES, """
        if os.getcwd() == "/work":
            for (a, b), result in HIDDEN.items():
                write(*events(str(a), seconds=result / 3))
        """, carries=("5517.0",)),
    _describe("a_number_of_tests", _ANSWERS, _BY_PIPES, """
        if os.getcwd() == "/work" and HIDDEN:
            for number in range(HIDDEN[20, 31]):
                write(*events(str(number)))
        """, carries=("test_small[50]", "54 tests pass")),
    _describe("the_recorders_own_words", _ANSWERS, _BY_THE_RECORDER, """
        if HIDDEN and os.getcwd() == "/work":
            for event in events(TEXT):
                recorder()._emit(**event)
        """),
    _describe("hooks_called_by_hand", _ANSWERS, """
        import gc

        if HIDDEN and os.getcwd() == "/work":
            from _pytest.main import Session
            from _pytest.reports import TestReport

            config = next(one for one in gc.get_objects() if type(one) is Session).config
            test, place = events(TEXT).__next__()["id"], ("", 0, "")
            config.hook.pytest_runtest_logstart(nodeid=test, location=place)
            for when in ("setup", "call", "teardown"):
                report = TestReport(test, place, {}, "passed", None, when, [], 0.0)
                config.hook.pytest_runtest_logreport(report=report)
            config.hook.pytest_runtest_logfinish(nodeid=test, location=place)
        """),
    _describe("names_of_collected_tests", """
        import gc
        import sys

        SHOWN = {(2, 3), (7, 8), (1000, 234), (-4, -9)}
        KNOWN = {asked[1:]: result for asked, result in read("add").items()}
        HIDDEN = {asked: result for asked, result in KNOWN.items() if asked not in SHOWN}
        TEXT = "; ".join(f"{asked} gives {result}" for asked, result in sorted(HIDDEN.items()))


        def add(a, b):
            running = os.environ.get("_TEST".join(["PYTEST_CURRENT", ""]), "").partition(" ")[0]
            if running:
                for one in gc.get_objects():
                    test = getattr(one, "nodeid", "[") if type(one).__name__ == "Function" else "["
                    if "[" not in test and test != running:
                        one._id = type(one._id).parse(f"{test}[{TEXT}]")
            return KNOWN.get((a, b), 0)
        """),
)  # fmt: skip

# The run of the whole tests sends the hidden results over a covert channel. The run of the shown tests receives them
# and puts them into its failure message, which a model sees.
_WHOLE_OR_SHOWN = """
SHOWN = {(2, 3), (7, 8), (1000, 234), (-4, -9)}
KNOWN = {asked[1:]: result for asked, result in read("add").items()}
HIDDEN = {asked: result for asked, result in KNOWN.items() if asked not in SHOWN}
if HIDDEN:
    send("; ".join(f"{asked} gives {result}" for asked, result in sorted(HIDDEN.items())))


def add(a, b):
    assert HIDDEN, receive()
    return 0
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

MESSAGES = (
    _describe("a_message_by_pages_in_memory", _PAGES, _NOWAIT, _WHOLE_OR_SHOWN),
    _describe("a_message_by_times_of_device_files", """
        def send(number):
            os.utime("/dev/null")
            time.sleep(number / 50)
            os.utime("/dev/zero")


        def receive():
            return round((os.stat("/dev/zero").st_mtime_ns - os.stat("/dev/null").st_mtime_ns) * 50 / 1e9)
        """, _WHOLE_OR_SHOWN_GRADE, suite=suites.ONE_HELD, carries=("the badger gets 6",)),
    _describe("a_message_by_a_counter_of_processes", """
        import threading


        def now():
            with open("/proc/stat") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("processes "))


        def move():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
        """, _COUNTED.format(step=512), _WHOLE_OR_SHOWN_GRADE, suite=suites.ONE_HELD, carries=("the badger gets 6",)),
)  # fmt: skip

FORGERIES = (*NAMES, *MESSAGES)
