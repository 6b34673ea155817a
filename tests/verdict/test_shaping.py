from __future__ import annotations

from nightshift.core.isolation import WORK
from nightshift.core.tasks.verdicts import Failure
from nightshift.core.text.masking import MAX_LINE
from nightshift.verdict import shaping
from nightshift.verdict.answer import Fault
from nightshift.verdict.shaping import Texts

TEXT = "from app import f\n\n\ndef test_one():\n    assert f(1) == 1\n"
TEXTS = Texts(frozenset({"tests/test_a.py"}), {"tests/test_a.py": TEXT, "app.py": "def f(n):\n    return 1 / 0\n"}.get)


def shape(message: str = "", frames: tuple[tuple[str, int, str], ...] = (), output: str = "", **more: bool) -> Failure:
    fault = Fault(kind="ValueError", message=message, frames=frames)
    return shaping.failure("tests/test_a.py::test_one[1-a]", fault, output, TEXTS, **more)


def test_a_test_is_named_as_its_owner_knows_it() -> None:
    assert shape().id == "tests/test_a.py::test_one[1-a]"
    assert shaping.show_id("a.test.mjs::sum of \u27e61, 2]") == "a.test.mjs::sum of [1, 2]"


def test_the_last_frame_of_ones_own_is_shown_with_lines_around_it() -> None:
    frames = (("/opt/x.py", 1, "run"), ("tests/test_a.py", 5, "test_one"), ("app.py", 2, "f"), ("/usr/y.py", 9, "g"))
    shaped = shape("boom", frames)
    assert shaped.frame == "app.py:2 in f"
    assert shaped.excerpt == "     1 def f(n):\n>    2     return 1 / 0\n     3 "
    assert shape("boom", frames[:2]).frame == "tests/test_a.py:5 in test_one"
    assert shape("boom", frames[:1]).frame == shape("boom").excerpt == ""


def test_an_assertion_without_a_message_shows_its_line() -> None:
    assert shape("", (("tests/test_a.py", 5, "test_one"),)).message == "assert f(1) == 1"


def test_what_changes_from_run_to_run_is_taken_out() -> None:
    text = f"<A at 0x7f12ab34cd56> in {WORK}/app.py took 0.53s, "
    text += "/tmp/pytest-of-a/pytest-3/test_x0/file /tmp/tmpab12cd34/y"
    assert shape(text).message == "<A at 0x…> in app.py took … s, /tmp/test_x0/file /tmp/y"


def test_what_comes_from_the_program_is_printable_and_short() -> None:
    shaped = shape("\x1b[31mred\x00" + "x" * 10_000, output="\n".join(f"line {n}" for n in range(50)) + "\u202e")
    assert "\x1b" not in shaped.message + shaped.output
    assert len(shaped.message) < MAX_LINE + 100
    assert shaped.output.split("\n")[0] == "line 30"
    assert len(shaped.output.split("\n")) == shaping.MAX_OUTPUT_LINES


def failure(kind: str, frame: str = "", message: str = "") -> Failure:
    return Failure(id=f"{kind}{frame}", kind=kind, message=message, frame=frame)


def test_at_most_ten_distinct_failures_are_kept_and_those_that_hide_others_come_first() -> None:
    many = [failure("AssertionError", f"a.py:{n}") for n in range(12)]
    failures = shaping.distinct([*many, *many, failure("ModuleNotFoundError"), failure("Timeout")])
    assert [shaped.kind for shaped in failures] == ["ModuleNotFoundError", "Timeout", *["AssertionError"] * 8]
    same = [failure("KeyError", "a.py:1", message) for message in ("'x'", "'y'")]
    assert len(shaping.distinct(same)) == 1
