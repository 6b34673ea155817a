"""The files of a commit are classified by path, and read from its trees."""

from collections.abc import Mapping

import pytest

from nightshift.core.tasks.task import Language
from nightshift.report.benchmark.commit_parts import CommitParts, NotText, Part, part_of, read_parts
from tests.support.trees import TextTree


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("shop/price.py", Part.SOURCE),
        ("tests/test_price.py", Part.TEST),
        ("price_test.go", Part.TEST),
        ("tests/support/helper.py", Part.SUPPORT),
        ("tests/data/prices.csv", Part.SUPPORT),
        ("uv.lock", Part.LOCK),
        (".github/workflows/ci.yml", Part.CI),
        ("README.md", Part.OTHER),
    ],
)
def test_a_file_is_what_its_path_says(path: str, part: Part) -> None:
    assert part_of(path) is part


def parts(before: Mapping[str, str], after: Mapping[str, str]) -> CommitParts:
    return read_parts(TextTree(before), TextTree(after))


def test_a_commit_is_a_change_with_tests_and_what_these_need() -> None:
    common_files = {"kept.py": "1\n", "test_old.py": "x\n"}
    commit_parts = parts(
        {**common_files, "a.py": "1\n", "gone.py": "1\n", "test_gone.py": "1\n"},
        {**common_files, "a.py": "2\n", "README.md": "new\n", "test_a.py": "t\n", "tests/data/x.csv": "1,2\n"},
    )
    assert commit_parts.change == {"a.py": "2\n", "gone.py": None, "README.md": "new\n"}
    assert commit_parts.sources == ("a.py", "gone.py")
    assert (commit_parts.tests, commit_parts.support) == ({"test_a.py": "t\n"}, {"tests/data/x.csv": "1,2\n"})
    assert (commit_parts.gone, commit_parts.language) == (("test_gone.py",), Language.PYTHON)


def test_bytes_and_links_are_refused() -> None:
    with pytest.raises(NotText, match="is no text"):
        parts({}, {"data.bin": "\0"})

    class Linked(TextTree):
        def unwritable(self) -> frozenset[str]:
            return frozenset({"link"})

    with pytest.raises(NotText, match="link"):
        read_parts(TextTree(), Linked())
