"""Each test that unittest runs is reported under the name that pytest would give it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.sandbox.inside import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
TOLD: dict[str, object] = {"fd": 1, "addopts": None, "secret": "S ", "preload": (), "traced": True}
RUN = "from nightshift.sandbox.inside import start; import unittest; unittest.main(None, argv=['unittest', *{words}])"
Event = dict[str, object]


def run(folder: Path, body: str, *words: str) -> list[Event]:
    (folder / "tests").mkdir()
    (folder / "tests/__init__.py").touch()
    (folder / "tests/test_cart.py").write_text(f"import unittest\nfrom unittest import *\n\n\n{body}")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:.", VARIABLE: json.dumps(TOLD)}
    code = RUN.format(words=list(words or ("discover", "-s", "tests", "-t", ".")))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    lines = [line.removeprefix("S ") for line in done.stdout.splitlines() if line.startswith("S ")]
    assert lines, done.stderr
    return [json.loads(line) for line in lines]


def of_kind(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["e"] == kind]


@pytest.mark.parametrize(
    ("body", "result", "kind", "marked"),
    [
        ("def test_a(self): self.assertEqual(1, 1)", "passed", None, False),
        ("def test_a(self): self.assertEqual(1, 2)", "failed", "AssertionError", False),
        ("def setUp(self): {}['x']\n    def test_a(self): pass", "failed", "KeyError", False),
        ("@classmethod\n    def setUpClass(cls): {}['x']\n    def test_a(self): pass", "failed", "KeyError", None),
        (
            "@classmethod\n    def setUpClass(cls): raise SkipTest('x')\n    def test_a(self): pass",
            "skipped", "Skipped", None,
        ),
        ("def test_a(self):\n        with self.subTest(n=1): self.fail()", "failed", "AssertionError", False),
        ("@skip('later')\n    def test_a(self): pass", "skipped", "Skipped", True),
        ("@expectedFailure\n    def test_a(self): self.fail()", "skipped", "XFailed", True),
        ("@expectedFailure\n    def test_a(self): pass", "failed", "XPassed", True),
    ],
)  # fmt: skip
def test_a_test_ends_as_unittest_says(
    tmp_path: Path, body: str, result: str, kind: str | None, *, marked: bool | None
) -> None:
    events = run(tmp_path, f"class CartTest(unittest.TestCase):\n    {body}\n")
    (item,), (end,) = of_kind(events, "item"), of_kind(events, "end")
    assert item["id"] == end["id"] == "tests/test_cart.py::CartTest::test_a"
    assert (end["result"], end.get("marked")) == (result, marked)
    fail = end["fail"]
    assert (fail["kind"] if isinstance(fail, dict) else None) == kind
    assert of_kind(events, "finish")[0]["exit"] == (result == "failed")


def test_a_file_that_cannot_be_imported_is_named_with_its_fault(tmp_path: Path) -> None:
    events = run(tmp_path, "import nowhere\n")
    (fault,) = of_kind(events, "collect")
    assert fault["id"] == "tests/test_cart.py"
    assert isinstance(fault["fail"], dict)
    assert (fault["fail"]["kind"], fault["fail"]["message"]) == ("ModuleNotFoundError", "No module named 'nowhere'")
    assert not of_kind(events, "item")


def test_a_runner_that_a_test_starts_is_part_of_the_test(tmp_path: Path) -> None:
    inner = "class Inner(unittest.TestCase):\n    def test_b(self): self.fail()\n\n"
    body = (
        f"{inner}class A(unittest.TestCase):\n    def test_a(self):\n        suite = TestSuite([Inner('test_b')])\n"
        "        self.assertFalse(TextTestRunner().run(suite).wasSuccessful())\n"
    )
    events = run(tmp_path, body, "tests.test_cart.A")
    assert [(end["id"], end["result"]) for end in of_kind(events, "end")] == [
        ("tests/test_cart.py::A::test_a", "passed")
    ]


def test_code_of_the_tree_does_not_find_the_secret(tmp_path: Path) -> None:
    body = (
        f"import os\nassert '{VARIABLE}' not in os.environ\n\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    )
    assert of_kind(run(tmp_path, body), "end")[0]["result"] == "passed"
