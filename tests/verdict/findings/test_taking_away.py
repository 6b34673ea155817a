"""The scope of a removal: the files that the task names, and files that only the named files used."""

from __future__ import annotations

from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.verdict.findings.taking_away import find_more
from tests.support.trees import TextTree

PAY = "def pay(amount):\n    if amount < 0:\n        raise ValueError\n    return amount\n"
OLD = "import tables\n\n\ndef old_total():\n    pass\n"
BASE = {"old.py": OLD, "tables.py": "", "LICENSE": "MIT\n", "shop.py": PAY}


def more(change: dict[str, str | None], asked: str = "Remove the unused module old.py.") -> list[str]:
    job = SuiteJob(base=TextTree(BASE), change=change, asked=asked, takes_away=True)
    return [finding.says for finding in find_more(job)]


def test_what_is_named_may_go_with_what_only_that_used() -> None:
    assert more({"old.py": None}) == []
    assert more({"old.py": None, "tables.py": None}) == []


def test_files_that_nobody_named_are_asked_about() -> None:
    (says,) = more({"old.py": None, "LICENSE": None})
    assert "LICENSE" in says


def test_a_renamed_file_is_no_removal() -> None:
    assert more({"old.py": None, "LICENSE": None, "COPYING": "MIT\n"}) == []


def test_checks_of_another_function_are_asked_about() -> None:
    change: dict[str, str | None] = {"old.py": None, "shop.py": "def pay(amount):\n    return amount\n"}
    assert "pay of shop.py" in "".join(more(change))
    assert more(change, "Remove old.py; simplify pay") == []
