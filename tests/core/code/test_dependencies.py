from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.code.dependencies import Closure, ImportCache, closure, dependants, nearest_first
from tests.support import tiers
from tests.support.trees import TextTree

TREE = TextTree({
    "conftest.py": "",
    "pyproject.toml": "",
    "README.md": "see app/core.py",
    "app/__init__.py": "from app.core import one\n",
    "app/core.py": "import json\nfrom . import deep\n\none = 1\n",
    "app/deep/__init__.py": "",
    "app/deep/well.py": "from ..core import one\n",
    "app/unused.py": "import app.core\n",
    "app/data/a.csv": "1\n",
    "app/data/b.csv": "2\n",
    "src/lib/__init__.py": "",
    "src/lib/tool.py": "",
    "tests/__init__.py": "",
    "tests/conftest.py": "from tests.helpers import h\n",
    "tests/helpers.py": "h = 1\n",
    "tests/test_core.py": "from app.core import one\n",
    "tests/test_well.py": "from app.deep.well import one\n",
    "tests/test_data.py": "from pathlib import Path\n\nDATA = Path(__file__).parent / 'data'\n",
    "tests/test_lib.py": "import lib.tool\n",
    "tests/test_all.py": "import pkgutil\n",
    "tests/test_patch.py": "def test_it(mocker):\n    mocker.patch('app.deep.well.one')\n",
})  # fmt: skip
AROUND = {"conftest.py", "pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/helpers.py"}
CORE = {"app/__init__.py", "app/core.py", "app/deep/__init__.py"}


def of(path: str, change: Mapping[str, str | None] | None = None) -> Closure:
    return closure(TREE, change or {}, {path: TREE.files[path]}, ImportCache())


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tests/test_core.py", CORE),
        ("tests/test_well.py", CORE | {"app/deep/well.py"}),
        ("tests/test_patch.py", CORE | {"app/deep/well.py"}),
        ("tests/test_data.py", {"app/data/a.csv", "app/data/b.csv"}),
        ("tests/test_lib.py", {"src/lib/__init__.py", "src/lib/tool.py"}),
    ],
)
def test_a_closure_holds_what_the_test_can_see_and_no_more(test: str, expected: set[str]) -> None:
    closure = of(test)
    assert closure.complete
    assert closure.paths == expected | AROUND | {test}


def test_a_dynamic_file_makes_its_closure_incomplete() -> None:
    assert not of("tests/test_all.py").complete


def test_a_change_is_part_of_the_tree_and_its_files_are_part_of_the_closure() -> None:
    change = {"app/new.py": "from app import unused\n", "app/deep/well.py": None}
    closure = of("tests/test_core.py", change)
    assert closure.paths == CORE | AROUND | {"tests/test_core.py", "app/new.py", "app/unused.py"}


def test_a_star_takes_the_modules_of_a_package() -> None:
    test = {"test_star.py": "from app import *\n"}
    paths = closure(TREE, {}, test, ImportCache()).paths
    assert {"app/core.py", "app/unused.py"} <= paths
    assert "app/deep/well.py" not in paths


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("app/core.py", {"tests/test_core.py", "tests/test_well.py", "tests/test_patch.py", "tests/test_all.py"}),
        ("app/deep/well.py", {"tests/test_well.py", "tests/test_patch.py", "tests/test_all.py"}),
        ("app/unused.py", {"tests/test_all.py"}),
        ("app/data/new.csv", {"tests/test_all.py", "tests/test_data.py"}),
        ("lib/tool.py", {"tests/test_all.py", "tests/test_lib.py"}),
        ("README.md", {"tests/test_all.py"}),
    ],
)
def test_the_tests_that_depend_on_a_file_are_found(changed: str, expected: set[str]) -> None:
    assert dependants(TREE, {changed}, ImportCache()) == expected


def test_settings_and_conftests_reach_every_test() -> None:
    every = {path for path in TREE.files if path.startswith("tests/test_")}
    assert dependants(TREE, {"pytest.ini"}, ImportCache()) == every
    assert dependants(TREE, {"tests/helpers.py"}, ImportCache()) == every


def test_a_removed_module_concerns_the_tests_that_import_it() -> None:
    files = {path: text for path, text in TREE.files.items() if path != "app/core.py"}
    assert "tests/test_core.py" in dependants(TextTree(files), {"app/core.py"}, ImportCache())


@given(st.dictionaries(st.integers(0, 11), st.sets(st.integers(0, 11), max_size=3), min_size=3, max_size=12), st.data())
@settings(max_examples=tiers.examples(60), deadline=None)
def test_dependants_and_closures_agree(graph: dict[int, set[int]], data: st.DataObject) -> None:
    """A test depends on a file exactly when the file is in its closure."""
    files = {f"m{n}.py": "".join(f"import m{other}\n" for other in used) for n, used in graph.items()}
    tests = {f"test_{n}.py": f"import m{n}\n" for n in graph}
    tree, cache = TextTree({**files, **tests}), ImportCache()
    changed = data.draw(st.sampled_from(sorted(files)))
    expected = {path for path, text in tests.items() if changed in closure(tree, {}, {path: text}, cache).paths}
    assert dependants(tree, {changed}, cache) == expected


FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "test_a.py", "pkg/test_c.py", "conftest.py"]),
    st.sampled_from(
        ["", "import a", "from pkg import *", "from . import c", "X = 'b.py'", "import glob", "import pkg.c"]
    ),
)


@given(st.lists(FILES, min_size=2, max_size=4), st.sampled_from(["a.py", "b.py", "pkg/c.py", "conftest.py"]))
@settings(max_examples=tiers.examples(100), deadline=None)
def test_what_was_learned_of_other_commits_changes_no_answer(commits: list[dict[str, str]], changed: str) -> None:
    cache = ImportCache()
    for files in commits:
        tree = TextTree(files)
        assert dependants(tree, {changed}, cache) == dependants(tree, {changed}, ImportCache())
        for path, text in files.items():
            assert closure(tree, {}, {path: text}, cache) == closure(tree, {}, {path: text}, ImportCache())


def test_tests_of_unknown_closure_can_be_left_out() -> None:
    assert dependants(TREE, {"app/unused.py"}, ImportCache(), unknown=False) == frozenset()
    assert dependants(TREE, {"tests/test_all.py"}, ImportCache(), unknown=False) == {"tests/test_all.py"}


class CountingTree(TextTree):
    """Tree that counts its reads."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


def test_a_few_thousand_files_are_parsed_once() -> None:
    modules = {
        f"pkg/m{n}.py": f"from pkg import m{n // 2}\n\ndef f():\n    return 'data{n}.txt'\n" for n in range(1500)
    }
    tests = {f"tests/test_m{n}.py": f"from pkg.m{n} import f\n" for n in range(1500)}
    tree, cache = CountingTree({"pkg/__init__.py": "", **modules, **tests}), ImportCache()
    assert len(dependants(tree, {"pkg/m1499.py"}, cache)) == 1
    read = tree.reads
    assert len(dependants(tree, {"pkg/m0.py"}, cache)) == 1500
    assert tree.reads == read == 3001


def test_the_tests_that_use_a_changed_file_themselves_come_first_and_those_that_cannot_reach_it_last() -> None:
    tree = TextTree({
        "app/__init__.py": "", "app/core.py": "ONE = 1\n", "app/api.py": "from app.core import ONE\n",
        "app/other.py": "TWO = 2\n", "tests/test_a.py": "from app.other import TWO\n",
        "tests/test_b.py": "from app.api import ONE\n", "tests/test_c.py": "from app.core import ONE\n",
        "tests/test_d.py": "from app.other import TWO\n",
    })  # fmt: skip
    every = frozenset(f"tests/test_{name}.py" for name in "abcd")
    order = nearest_first(tree, {"app/core.py", "tests/test_d.py"}, every, ImportCache())
    assert order == tuple(f"tests/test_{name}.py" for name in "cdba")
