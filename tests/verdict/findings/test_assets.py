"""Test assets: files that decide what tests check, and the changes to them that the owner must approve."""

from __future__ import annotations

import pytest

from nightshift.core.tasks.task import Change
from nightshift.verdict.findings import assets
from nightshift.verdict.findings.assets import Surroundings

READ = ("data/bill.txt", "pyproject.toml", "README.md", "tests/README.md", "expected/page.md")
PACKAGES = {"shop/__init__.py", "shop/testing/__init__.py", "testing/__init__.py", "shop/tests/__init__.py"}
AROUND = Surroundings(
    read=dict.fromkeys(READ, "tests/test_a.py"), modules={"shop_testing.py", "shop.py"}, command=("python", "run.py"),
    present=PACKAGES,
)  # fmt: skip
RAN = ("shop.py::shop.total", "shop.py::test_total")
HELPER = "def assert_total(found):\n    assert found\n"
PAGE = "# Shop\n\n```\n>>> total([1])\n1\n```\n"


def test_an_asset_is_known_and_what_the_product_alone_reads_is_none() -> None:
    many = "data/bill.txt tests/golden/bill.txt a.snap app/conftest.py tox.ini run.py test_a.py testing/a.py"
    for path in (*many.split(), *READ[3:], "shop/tests/a.py", "shop/testing/a.json", "shop/spec/a.py"):
        assert assets.find_reason(path, "", "", AROUND), path
    for path, text in (
        ("shop_testing.py", HELPER),
        ("shop/testing/a.py", HELPER),
        ("shop/testing/a.py", "import pytest"),
    ):
        assert assets.find_reason(path, text, text, AROUND), path
    for path, text in (("shop.py", HELPER), ("shop_testing.py", "x = 1\n"), ("other_testing.py", HELPER)):
        assert not assets.find_reason(path, text, text, AROUND), path
    for path in ("data/prices.txt", "pyproject.toml", "shop/testing/client.py"):
        assert not assets.find_reason(path, "", "1", AROUND), path
    assert not assets.find_reason("README.md", PAGE, PAGE.replace("Shop", "A shop"), AROUND)
    for now in (PAGE.replace("\n1\n", "\n2\n"), PAGE.replace("[1]", "[]"), None):
        assert assets.find_reason("README.md", PAGE, now, AROUND), now
    named = Surroundings(read={}, modules=(), suites=("total_spec.py",))
    for text, is_asset in (("def test_a(): pass\n", True), ("class Testing: pass\n", True), ("x = 1\n", False)):
        assert bool(assets.find_reason("total_spec.py", text, text, named)) is is_asset


def test_a_change_of_one_is_a_question_unless_the_task_names_it() -> None:
    texts: Change = dict.fromkeys(("data/bill.txt", "shop.py"), "1\n")
    change: Change = {"data/bill.txt": "2\n", "shop.py": "2\n", "tests/new.txt": "new\n"}
    (finding,) = assets.find_touched(change, texts, AROUND)
    assert finding.where == "data/bill.txt"
    assert finding.subject == assets.subject_of("data/bill.txt", "2\n")
    named = Surroundings(read=AROUND.read, modules=(), asked="Update bill.txt to the new prices.")
    (named_one,) = assets.find_touched(change, texts, named)
    assert not named_one.subject
    steering = Surroundings(read={}, modules=(), asked="Add pytest.ini.", steering={"pytest.ini": "steers"})
    (asked,) = assets.find_touched({"pytest.ini": "[pytest]\n"}, {}, steering)
    assert (asked.says, bool(asked.subject)) == ("pytest.ini steers: may it be added?", True)


def test_an_example_may_move_to_another_file_of_the_change() -> None:
    around, example = (
        Surroundings(read={}, modules=(), collected=("a.py::a.f",)),
        'def f():\n    """\n    >>> f()\n    1\n    """\n',
    )
    assert not list(assets.find_touched({"a.py": "", "b.py": example}, {"a.py": example}, around))
    assert list(assets.find_touched({"a.py": ""}, {"a.py": example}, around))


INNER = (
    'def total(x):\n    """Sum.\n\n    >>> total([1])\n    1\n    """\n    return sum(x)\n\n\n'
    "def test_connection(): return 1\n\n\ndef test_total(): assert total([1]) == 1\n"
)


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ("return sum(x)", "return 0", False), ("    1\n", "    1\n    >>> total([])\n    0\n", False),
        ("return 1", "return 2", False),  # no test, though it is named like one
        ("    1\n", "    0\n", True), ("    >>> total([1])\n    1\n", "", True), ("[1]) == 1", "[1]) == 0", True),
    ],
)  # fmt: skip
def test_tests_inside_the_product_may_grow_and_their_change_is_a_question(old: str, new: str, *, asks: bool) -> None:
    around = Surroundings(read={}, modules=(), asked="Mend shop.py.", collected=("a.py::x", *RAN))
    after = INNER.replace(old, new)
    assert after != INNER
    findings = list(assets.find_touched({"shop.py": after}, {"shop.py": INNER}, around))
    assert [finding.subject for finding in findings] == [assets.subject_of("shop.py", after)] * asks


def test_what_its_owner_keeps_is_taken_out() -> None:
    subject = assets.subject_of("data/bill.txt", "2\n")
    assert set(assets.find_denied({"data/bill.txt": "3\n", "shop.py": ""}, [subject])) == {"data/bill.txt"}
