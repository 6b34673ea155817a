from __future__ import annotations

import pytest

from verdict.fails_before import surely_fail_before


@pytest.mark.parametrize(
    ("imported", "change", "present", "red"),
    [
        ("from new import f", {"new.py": ""}, set(), True),
        ("import new.deep", {"new/deep.py": ""}, set(), True),
        ("from new import f", {"src/new.py": ""}, set(), True),
        ("from app import new", {"app/new.py": ""}, {"app/old.py"}, False),
        ("from new import f", {"new.py": ""}, {"new.py"}, False),
        ("from json import f", {"json.py": ""}, set(), False),
        ("try:\n    from new import f\nexcept ImportError:\n    pass", {"new.py": ""}, set(), False),
        ("def test_a():\n    from new import f", {"new.py": ""}, set(), False),
    ],
)
def test_a_missing_module_makes_tests_surely_fail_before(
    imported: str, change: dict[str, str | None], present: set[str], red: bool
) -> None:
    assert surely_fail_before({"test_a.py": imported + "\n"}, change, present) is red
