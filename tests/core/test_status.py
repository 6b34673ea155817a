from __future__ import annotations

from nightshift.core.status import sandbox_in_brief


def test_a_sandbox_that_holds_takes_one_line() -> None:
    report = "bubblewrap, kept warm\n  ok     network: closed\n  ok     home: closed"
    assert sandbox_in_brief(report) == ("bubblewrap, kept warm: 2 escape attempts blocked",)


def test_what_does_not_hold_is_all_said() -> None:
    report = "process: chosen by name\n  FAILED network: open\n  ok     memory limit: holds"
    assert sandbox_in_brief(report) == ("process: chosen by name", "FAILED network: open")
    assert sandbox_in_brief("being tested") == ("being tested",)
    assert sandbox_in_brief("") == ("",)
