"""A complete run of the doctor finishes in time whatever is broken, and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from nightshift.app.doctor.context import CheckContext, Finding, Grade, check_context, note, ok
from nightshift.app.doctor.examination import CHECKS, Check, examine, worst
from tests.support.git_repo import fingerprint
from tests.support.home import Home


def test_a_check_that_fails_is_a_finding_and_what_it_found_before_counts(tmp_path: Path) -> None:
    def breaks(_: CheckContext) -> Iterator[Finding]:
        yield ok("first", "fine")
        raise ZeroDivisionError("by zero")

    (section,) = examine(check_context(tmp_path), [Check(section="x", run=breaks)])
    first, second = section.findings
    assert (first.what, second.grade) == ("first", Grade.FAULT)
    assert "ZeroDivisionError: by zero" in second.text


def test_a_check_that_hangs_is_waited_for_no_longer_than_its_time(tmp_path: Path) -> None:
    for_ever = threading.Event()

    def hangs(_: CheckContext) -> Iterator[Finding]:
        yield note("first", "fine")
        for_ever.wait()

    checks = [Check(section="x", run=hangs, limit_s=0.2), Check(section="x", run=lambda _: [ok("y", "z")])]
    (section,) = examine(check_context(tmp_path), checks)
    for_ever.set()
    assert [each.what for each in section.findings] == ["first", "x", "y"]
    assert "did not end within 0.2 s" in section.findings[1].text
    assert worst([section]) is Grade.WARNING


def test_every_section_of_the_table_has_an_answer_on_an_empty_home(home: Home) -> None:
    result = home.run("--doctor", "--json")
    findings = result.json["findings"]
    assert {each["section"] for each in findings} == {check.section for check in CHECKS}
    assert (result.code, result.json["worst"] != "fault") == (0, True), result.out
    assert all(each["fix"] for each in findings if each["grade"] in {"warning", "fault"})
    assert list(home.path.iterdir()) == [], "nothing was written"


def test_with_everything_broken_there_is_an_answer_and_nothing_is_touched(home: Home, tmp_path: Path) -> None:
    (home.path / "config.yaml").write_text("worker_count: many\n")
    (home.path / "tasks.yaml").write_text("tasks: 7\n")
    (home.path / "db").mkdir()
    (home.path / "db" / "agent_logs.sqlite").write_bytes(b"\0\1" * 4000)
    (home.path / "workspace" / ".git").mkdir(parents=True)
    (home.path / "workspace" / ".git" / "HEAD").write_text("nonsense")
    (home.path / "state.json").write_text("{")
    (tmp_path / "bin").mkdir()
    before = fingerprint(home.path)
    result = home.run("--doctor", "--json", PATH=str(tmp_path / "bin"))
    grades = {(each["section"], each["what"]): each["grade"] for each in result.json["findings"]}
    assert (result.code, result.json["worst"]) == (1, "fault")
    for which in (
        ("versions", "git"),
        ("settings", "worker_count (WORKER_COUNT)"),
        ("database", "quick check"),
        ("intake", "tasks.yaml"),
        ("sandbox", "sandbox"),
    ):
        assert grades[which] == "fault", grades
    assert grades["versions", "node"] == "note"
    assert fingerprint(home.path) == before
