"""A change is checked while the model writes it: forbidden file names, symbolic links, and size limits."""

from __future__ import annotations

import pytest

from nightshift.agent.draft import Draft, Taken
from nightshift.agent.replies import Parsed
from nightshift.core.code.paths import MAX_FILE_CHARS, MAX_FILES
from nightshift.core.tasks.task import TaskSpec
from tests.support.trees import TextTree


class LinkedTree(TextTree):
    """A tree that has a link, `link`, beside its files."""

    def unwritable(self) -> frozenset[str]:
        return frozenset({"link"})


BASE = LinkedTree({"pkg/Foo.py": "a = 1\n", "README": "x\n", "pkg/ab_test.py": "a = 1\n"})


def draft(asked: str = "Do it", change: dict[str, str | None] | None = None) -> Draft:
    return Draft(BASE, change or {}, TaskSpec(description=asked))


def put(coding_draft: Draft, *paths: str, text: str = "x = 1\n") -> Taken:
    return coding_draft.take(Parsed(files=dict.fromkeys(paths, text)))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("link", "symbolic link"), ("link/x.py", "symbolic link"), ("README/x.py", "README"),
        ("pkg", "pkg/Foo.py"), ("pkg/foo.py", "pkg/Foo.py"), (".github/workflows/ci.yml", "not asked for"),
        (".husky/pre-push", "not asked for"),
    ],
)  # fmt: skip
def test_what_may_not_be_written_is_refused_with_the_reason(path: str, why: str) -> None:
    coding_draft = draft()
    taken = put(coding_draft, path, "good.py")
    assert taken.paths == ("good.py",)
    assert why in dict(taken.refused)[path]
    assert list(coding_draft.change) == ["good.py"]


@pytest.mark.parametrize(
    ("asked", "path"),
    [("Add a GitHub Actions workflow for the tests", ".github/workflows/ci.yml"), ("Create .envrc", ".envrc")],
)
def test_tooling_is_written_where_the_task_asks_for_it(asked: str, path: str) -> None:
    assert put(draft(asked), path).paths == (path,)


def test_a_module_with_the_name_of_a_test_belongs_to_the_product() -> None:
    for text, is_source in (("a = 2\n", True), ("def test_a(): pass\n", False)):
        assert ("pkg/ab_test.py" in draft(change={"pkg/ab_test.py": text}).sources) == is_source


def test_two_names_in_one_change_that_differ_in_case_are_not_both_taken() -> None:
    taken = put(draft(), "new.py", "New.py", "new.py/x.py")
    assert taken.paths == ("new.py",)
    assert [path for path, _ in taken.refused] == ["New.py", "new.py/x.py"]


def test_a_file_whose_place_becomes_free_may_be_written() -> None:
    coding_draft = draft(change={"pkg/Foo.py": None})
    assert put(coding_draft, "pkg/foo.py", "pkg.py").paths == ("pkg/foo.py", "pkg.py")


def test_a_change_is_bounded_in_files_and_in_characters() -> None:
    coding_draft = draft(change={f"f{n}.py": "x" for n in range(MAX_FILES)})
    assert "at most" in dict(put(coding_draft, "one_more.py").refused)["one_more.py"]
    assert "longer than" in dict(put(draft(), "long.py", text="x" * (MAX_FILE_CHARS + 1)).refused)["long.py"]
    big = draft(change={f"f{n}.py": "x" * 1_000_000 for n in range(8)})
    assert "together" in dict(put(big, "more.py").refused)["more.py"]
