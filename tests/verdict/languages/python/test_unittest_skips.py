"""Skips of unittest's as pytest's: what is written for them, and what stays."""

from __future__ import annotations

import pytest

from nightshift.verdict.languages.python.unittest_skips import as_pytest

HEAD = "import unittest\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD + "@unittest.skipIf(a or b, 'no')\ndef test(): pass\n",
            "@pytest.mark.skipif(bool(a or b), reason='no')\ndef test(): pass\n",
        ),
        (
            HEAD + "@unittest.skipUnless(\n    a,\n    'no',\n)\nclass T: pass\n",
            "@pytest.mark.skipif(\n    not (a),\n    reason='no',\n)\nclass T: pass\n",
        ),
        (HEAD + "off = unittest.skipIf(a, 'no')\n", "off = pytest.mark.skipif(bool(a), reason='no')\n"),
        (HEAD + "def t(self):\n    self.skipTest('no')\n", "def t(self):\n    pytest.skip('no')\n"),
        (HEAD + "def t(self):\n    raise unittest.SkipTest('no')\n", "def t(self):\n    raise pytest.skip('no')\n"),
    ],
)
def test_a_skip_is_written_as_pytest_s_and_no_line_moves(text: str, expected: str) -> None:
    assert as_pytest(text) == f"import unittest; import pytest\n{expected}"


def test_names_that_a_file_imports_are_known() -> None:
    text = "from unittest import skipIf as off, TestCase\n\n\n@off(x, 'no')\nclass T(TestCase): pass\n"
    assert "import pytest\n\n\n@pytest.mark.skipif(bool(x), reason='no')" in as_pytest(text)
    assert "import unittest as u; import pytest\n" in as_pytest("import unittest as u\n@u.skipIf(1, '')\ndef t(): 0\n")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "raise unittest.SkipTest('no')\n",
        HEAD + "def t(self):\n    with self.subTest():\n        self.skipTest('no')\n",
        HEAD + "@unittest.skip('no')\ndef t(): pass\n",
        HEAD + "pytest = 1\n\n\n@unittest.skipIf(a, 'no')\ndef t(): pass\n",
        HEAD + "@unittest.skipIf(a, ('no'))\ndef t(): pass\n",
        HEAD + "@unittest.skipIf(*a)\ndef t(): pass\n",
        "from mine import unittest\n\n\n@unittest.skipIf(a, 'no')\ndef t(): pass\n",
        "@skipIf(a, 'no')\ndef t(): pass\n",
    ],
)
def test_what_cannot_stand_so_stays(text: str) -> None:
    assert as_pytest(text) == text
