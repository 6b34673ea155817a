from __future__ import annotations

from nightshift.core.status import sandbox_in_brief


def test_what_does_not_hold_is_all_said() -> None:
    report = "process: chosen by name\n  FAILED network: open\n  ok     memory limit: holds"
    assert sandbox_in_brief(report) == ("process: chosen by name", "FAILED network: open")
    assert sandbox_in_brief("being tested") == ("being tested",)
    assert sandbox_in_brief("") == ("",)
