"""What is made of the lines that a search wrote."""

from __future__ import annotations

from repair import synthesis
from verdict.answer import ProgramAnswer


def heard(*lines: str) -> synthesis.SearchReport:
    return synthesis.report_of(ProgramAnswer(how="exited", exit_code=0, lines=lines, output=""))


def write(body: str) -> str:
    return f"def f(x):\n    {body}\n"


def test_the_smallest_comes_first_and_twins_of_two_processes_count_once() -> None:
    found = heard(
        '["examples", 4]', '["found", "return x + 0", 9, 5]', '["found", "return x", 3, 7]',
        '["found", "return x", 3, 8]',
        '["tried", 100, 4, "found"]', '["tried", 50, 3, "found"]',
    )  # fmt: skip
    told = synthesis.result_of(found, write, 20)
    assert told.texts == ("def f(x):\n    return x\n", "def f(x):\n    return x + 0\n")
    assert (told.examples, told.tried, told.why) == (4, 150, "")


def test_what_is_no_function_is_left_out() -> None:
    assert synthesis.result_of(heard('["found", "return x\\nimport os", 3, 7]'), write, 20).texts == ()


def test_lines_of_another_form_are_passed_over() -> None:
    found = heard("[]", "nonsense", '["found", 1]', '["examples", "many"]', '{"found": 1}', '["examples", 2]')
    assert found.examples == 2


def test_the_reason_tells_what_was_done() -> None:
    found = heard('["examples", 7]', '["tried", 180000, 9, "time"]', '["tried", 2000, 5, "time"]')
    why = synthesis.result_of(found, write, 20).why
    assert why == "7 examples, 182,000 expressions up to size 9 within 20 s, none fits"
    assert "show what any call must give" in synthesis.result_of(heard('["examples", 0]'), write, 20).why
    assert "without an answer" in synthesis.result_of(synthesis.report_of(None), write, 20).why
