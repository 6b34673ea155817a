"""Projects as they lie in the folder of another: what moves, what is put together, and what cannot be."""

from __future__ import annotations

import json

import pytest

from nightshift.core.code.project_moves import MovedTree, move_fault
from nightshift.core.tasks.projects import ROOT, Scope, moved_in, place_of, whole_of
from tests.support.trees import TextTree

HOW = "The tests:\n\n```sh\npip install -r requirements.txt\npytest\n```\n"
STAT = {
    "stat/README.md": f"# stat\n\nMeans of columns.\n\n{HOW}\n## Use\n\n```sh\n# a comment\n```\n",
    "stat/pytest.ini": "[pytest]\n",
    "stat/requirements.txt": "pytest\nMoon_Phase==1.0\nsun==2\n",
    "stat/stat.py": "def mean(x):\n    return sum(x) / len(x)\n",
    "stat/tests/__init__.py": "",
    "stat/tests/test_stat.py": "from stat import mean\n",
}
REPORT = {
    "report/README.md": "# report\n\nTables.\n",
    "report/pytest.ini": "[pytest]\npythonpath = .\n",
    "report/requirements.txt": "moon-phase==2.0\npytest\n",
    "report/table.py": "",
    "report/tests/__init__.py": "",
}
WORKSPACE = TextTree({"calc.py": "", **STAT, **REPORT})


def text(tree: MovedTree, path: str) -> str:
    return tree.read(path).decode()


def test_all_files_of_a_project_lie_in_the_folder_of_another() -> None:
    moved = MovedTree(WORKSPACE, "report", ["stat"])
    assert not moved.clashes
    assert not any(path.startswith("stat/") for path in moved.entries())
    assert text(moved, "report/tests/test_stat.py") == STAT["stat/tests/test_stat.py"]
    assert moved.entries()["report/stat.py"] == WORKSPACE.entries()["stat/stat.py"]
    assert moved.removed == STAT.keys()
    assert text(moved, "report/pytest.ini") == REPORT["report/pytest.ini"]
    assert text(moved, "calc.py") == ""
    with pytest.raises(KeyError):
        moved.read("stat/stat.py")


def test_readmes_and_requirements_are_put_together() -> None:
    moved = MovedTree(WORKSPACE, "report", ["stat"])
    assert text(moved, "report/requirements.txt") == "moon-phase==2.0\npytest\nsun==2\n"
    assert text(moved, "report/README.md") == (
        "# report\n\nTables.\n\n## stat\n\nMeans of columns.\n\n### Use\n\n```sh\n# a comment\n```\n"
    )


def test_a_renamed_project_names_itself_anew() -> None:
    package = {"stat/package.json": json.dumps({"name": "stat", "private": True})}
    moved = MovedTree(TextTree({**STAT, **package}), "figures", ["stat"])
    assert text(moved, "figures/README.md").startswith("# figures\n\nMeans of columns.")
    assert json.loads(text(moved, "figures/package.json")) == {"name": "figures", "private": True}
    assert text(moved, "figures/pytest.ini") == STAT["stat/pytest.ini"]


def test_packages_that_the_second_package_json_needs_are_added() -> None:
    files = {
        "site/README.md": "# site\n",
        "site/package.json": json.dumps({"name": "site", "dependencies": {"a": "1"}}),
        "shop/README.md": "# shop\n",
        "shop/package.json": json.dumps({"name": "shop", "dependencies": {"a": "2", "b": "3"}}),
    }
    moved = MovedTree(TextTree(files), "site", ["shop"])
    assert json.loads(text(moved, "site/package.json")) == {"name": "site", "dependencies": {"a": "1", "b": "3"}}
    broken = MovedTree(TextTree({**files, "shop/package.json": "{"}), "site", ["shop"])
    assert broken.clashes == ["package.json"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"report/stat.py": "other = 1\n"}, "more than one of report, stat has stat.py"),
        ({"report/tests/test_stat.py/data.txt": ""}, "has report/tests/test_stat.py"),
        ({"report/stat.py": STAT["stat/stat.py"]}, None),
        ({}, None),
    ],
)
def test_a_file_that_both_have_with_another_text_is_in_the_way(more: dict[str, str], words: str | None) -> None:
    why = move_fault(TextTree({**STAT, **REPORT, **more}), "report", ["stat"])
    assert why is None if words is None else words in (why or "")


def test_a_project_that_is_gone_and_one_with_links_are_not_moved() -> None:
    class Linked(TextTree):
        def unwritable(self) -> frozenset[str]:
            return frozenset({"stat/data"})

    assert move_fault(WORKSPACE, "report", ["almanac"]) == "there is no project almanac any more"
    assert "stat/data is a link" in (move_fault(Linked({**STAT, **REPORT}), "report", ["stat"]) or "")


def test_a_task_that_moves_projects_sees_them_in_its_own() -> None:
    scope = Scope(project="report", moved=("stat",))
    tree = scope.of(WORKSPACE)
    assert "stat.py" in tree.entries()
    assert moved_in(tree) == {"stat.py", "tests/test_stat.py"}
    assert moved_in(Scope(project="report").of(WORKSPACE)) == frozenset()
    assert place_of(tree)[0].read("report/requirements.txt") == b"moon-phase==2.0\npytest\nsun==2\n"
    assert whole_of(tree) is WORKSPACE
    assert tree.commit != Scope(project="report").of(WORKSPACE).commit
    assert [scope.inside(path) for path in ("stat/stat.py", "report/table.py", "calc.py")] == [
        "stat.py",
        "table.py",
        None,
    ]
    assert scope.fault(WORKSPACE) is None
    assert Scope(project=ROOT).fault(WORKSPACE) is None
    after = Scope(project="report").of(scope.whole(WORKSPACE))
    assert scope.of(place_of(after)[0]).entries() == after.entries(), "the tree of the commit has nothing to move"
