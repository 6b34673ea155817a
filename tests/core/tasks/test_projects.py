"""Projects of the workspace: their names, the files that a task sees, and the initial files of a new project."""

from __future__ import annotations

import pytest

from nightshift.core.errors import InvalidTask
from nightshift.core.tasks import projects
from nightshift.core.tasks.projects import ROOT, Scope
from nightshift.core.tasks.submission import as_input, parse_spec
from nightshift.core.tasks.task import Language
from tests.support.trees import TextTree

WORKSPACE = TextTree(
    {
        "calc.py": "",
        "docs/README.md": "# Docs\n",
        "notes/README.md": "# Notes\n",
        "shop/README.md": "# shop\n\nThe till of a shop.\n",
        "shop/cart.py": "CART = 1\n",
        "shop/requirements.txt": "",
        "shopping.py": "",
        "site/README.md": "# site\n",
        "site/package.json": "{}",
    }
)


@pytest.mark.parametrize("name", ["../up", "Shop", ".git", "con", "", "src", "shop-"])
def test_a_name_that_is_no_plain_folder_is_refused_with_the_task(name: str) -> None:
    assert projects.name_fault(name)
    if name:
        with pytest.raises(InvalidTask) as caught:
            parse_spec({"description": "Write it", "project": name})
        assert "project" in caught.value.fields


def test_a_task_names_its_project_or_the_root_and_never_beside_a_repository() -> None:
    for name in ("shop", ROOT):
        spec = parse_spec({"description": "Write it", "project": name})
        assert (spec.project, parse_spec(as_input(spec))) == (name, spec)
    with pytest.raises(InvalidTask, match="own workspace"):
        parse_spec({"description": "Write it", "project": "shop", "repo": "/home/me/shop"})


def test_a_task_that_brings_files_or_tests_stays_at_the_root_unless_it_names_a_project() -> None:
    task = {"description": "Write it"}
    assert projects.beginning(parse_spec(task)) is None
    assert projects.beginning(parse_spec({**task, "tests": {"tests/test_x.py": ""}})) == ROOT
    assert projects.beginning(parse_spec({**task, "files": {"calculator.py": ""}})) == ROOT
    assert projects.beginning(parse_spec({**task, "tests": {"tests/test_x.py": ""}, "project": "shop"})) == "shop"


def test_a_folder_with_a_readme_and_a_dependency_file_is_a_project() -> None:
    assert projects.projects_of(WORKSPACE) == ("shop", "site")


def test_a_task_of_a_project_sees_its_folder_as_the_root() -> None:
    scope = Scope(project="shop")
    tree = scope.of(WORKSPACE)
    assert list(tree.entries()) == ["README.md", "cart.py", "requirements.txt"]
    assert tree.read("cart.py") == b"CART = 1\n"
    with pytest.raises(KeyError):
        tree.read("../calc.py")
    assert tree.commit not in {WORKSPACE.commit, Scope(project="site").of(WORKSPACE).commit}
    assert [scope.full("cart.py"), scope.inside("shop/cart.py"), scope.inside("shopping.py")] == [
        "shop/cart.py",
        "cart.py",
        None,
    ]


def test_at_the_root_projects_are_neither_seen_nor_written_but_where_the_task_brought_files_of_one() -> None:
    tree = Scope(project=ROOT).of(WORKSPACE)
    assert list(tree.entries()) == ["calc.py", "docs/README.md", "notes/README.md", "shopping.py"]
    assert tree.unwritable() == {"shop", "site"}
    with pytest.raises(KeyError):
        tree.read("shop/cart.py")
    seen = Scope(project=ROOT, given=("shop/tests/test_cart.py",)).of(WORKSPACE)
    assert "shop/cart.py" in seen.entries()
    assert seen.unwritable() == {"site"}


def test_a_project_begins_with_what_it_lacks() -> None:
    new = projects.beginnings("shop", "A till.", Language.PYTHON, ())
    assert sorted(new) == ["README.md", "pytest.ini", "requirements.txt"]
    assert new["README.md"].startswith("# shop\n\nA till.\n")
    assert projects.first_words(new["README.md"]) == "A till."
    assert sorted(projects.beginnings("site", "", Language.JAVASCRIPT, ())) == ["README.md", "package.json"]
    assert sorted(projects.beginnings("old", "", Language.PYTHON, ("a.py", "pyproject.toml"))) == ["README.md"]


@pytest.mark.parametrize(
    ("change", "start"),
    [
        ({"a.py": "x = 1\n"}, {"a.py": "x = 1\n"}),  # The model kept the task's file
        ({"a.py": "x = 2\n", "b.py": "y = 1\n"}, {"a.py": "x = 1\n"}),  # The model changed the task's file
        ({"b.py": "y = 1\n"}, {}),  # The task's file has the base's text again
        # The model removed the task's file
    ],
)
def test_a_given_file_that_is_as_in_the_base_again_is_no_part_of_the_start(
    change: dict[str, str | None], start: dict[str, str]
) -> None:
    assert projects.start_of({"a.py": "x = 1\n"}, None, change) == start


def test_paths_that_begin_with_the_project_s_folder_are_read_as_its_own() -> None:
    text = "Mend shop/cart.py and workshop/x.py, https://a.b/shop/cart"
    assert projects.without_folder(text, "shop", ["cart.py"]).startswith(
        "Mend cart.py and workshop/x.py, https://a.b/shop"
    )
    assert projects.without_folder(text, "shop", ["shop/cart.py"]) == text
