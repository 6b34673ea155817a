from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.code.dependencies import Closure, ImportCache, closure, dependants, nearest_first
from tests.support import tiers
from tests.support.trees import TextTree

TREE = TextTree({
    "conftest.py": "", "pyproject.toml": "", "README.md": "see app/core.py",
    "app/__init__.py": "from app.core import one\n",
    "app/core.py": "import json\nfrom . import deep\n\none = 1\n",
    "app/deep/__init__.py": "", "app/deep/well.py": "from ..core import one\n", "app/unused.py": "import app.core\n",
    "app/data/a.csv": "1\n", "app/data/b.csv": "2\n", "src/lib/__init__.py": "", "src/lib/tool.py": "",
    "tests/__init__.py": "", "tests/conftest.py": "from tests.helpers import h\n", "tests/helpers.py": "h = 1\n",
    "tests/test_core.py": "from app.core import one\n",
    "tests/test_well.py": "from app.deep.well import one\n",
    "tests/test_data.py": "from pathlib import Path\n\nDATA = Path(__file__).parent / 'data'\n",
    "tests/test_lib.py": "import lib.tool\n", "tests/test_all.py": "import pkgutil\n",
    "tests/test_member.py": "from core_a.sums import one\nimport json\n",
    "members/a/src/core_a/sums.py": "one = 1\n", "members/a/src/json/__init__.py": "", "members/a/src/app/core.py": "",
    "tests/test_patch.py": "def test_it(mocker):\n    mocker.patch('app.deep.well.one')\n",
})  # fmt: skip
AROUND = {"conftest.py", "pyproject.toml", "tests/__init__.py", "tests/conftest.py", "tests/helpers.py"}
CORE = {"app/__init__.py", "app/core.py", "app/deep/__init__.py"}


def of(path: str, change: Mapping[str, str | None] | None = None) -> Closure:
    return closure(TREE, change or {}, {path: TREE.files[path]}, ImportCache())


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tests/test_well.py", CORE | {"app/deep/well.py"}),
        ("tests/test_patch.py", CORE | {"app/deep/well.py"}),
        ("tests/test_data.py", {"app/data/a.csv", "app/data/b.csv"}),
        ("tests/test_lib.py", {"src/lib/__init__.py", "src/lib/tool.py"}),
        ("tests/test_member.py", {"members/a/src/core_a/sums.py"}),
    ],
)
def test_a_closure_holds_what_the_test_can_see_and_no_more(test: str, expected: set[str]) -> None:
    closure = of(test)
    assert closure.complete
    assert closure.paths == expected | AROUND | {test}


def test_a_change_is_part_of_the_tree_and_its_files_are_part_of_the_closure() -> None:
    change = {"app/new.py": "from app import unused\n", "app/deep/well.py": None}
    closure = of("tests/test_core.py", change)
    assert closure.paths == CORE | AROUND | {"tests/test_core.py", "app/new.py", "app/unused.py"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("app/core.py", {"tests/test_core.py", "tests/test_well.py", "tests/test_patch.py", "tests/test_all.py"}),
        ("app/unused.py", {"tests/test_all.py"}),
        ("app/data/new.csv", {"tests/test_all.py", "tests/test_data.py"}),
        ("README.md", {"tests/test_all.py"}),
        ("members/a/src/core_a/sums.py", {"tests/test_all.py", "tests/test_member.py"}),
    ],
)
def test_the_tests_that_depend_on_a_file_are_found(changed: str, expected: set[str]) -> None:
    assert dependants(TREE, {changed}, ImportCache()) == expected


def test_settings_and_conftests_reach_every_test() -> None:
    every = {path for path in TREE.files if path.startswith("tests/test_")}
    assert dependants(TREE, {"pytest.ini"}, ImportCache()) == every
    assert dependants(TREE, {"tests/helpers.py"}, ImportCache()) == every


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
