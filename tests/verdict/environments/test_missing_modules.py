from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.listing import Listing
from nightshift.verdict.environments.missing_modules import MissingModuleFinder, imports

AVAILABLE = frozenset({"os", "json", "tomllib", "pytest"})


def needs(files: Mapping[str, str], *starts: str) -> list[str]:
    return [need.module for need in finder(files).missing(starts or list(files))]


def finder(files: Mapping[str, str]) -> MissingModuleFinder:
    return MissingModuleFinder(
        Listing(files), lambda path: imports(files[path]), roots=("", "src/"), available=AVAILABLE
    )


def test_what_is_neither_here_nor_standard_is_needed_once_with_its_place() -> None:
    files = {"a.py": "import os\n\nimport toolz\nfrom toolz import curry\nimport toolz\n"}
    needs = [(need.module, need.names, need.path, need.line) for need in finder(files).missing(["a.py"])]
    assert needs == [("toolz", (), "a.py", 3), ("toolz", ("curry",), "a.py", 4)]


def test_nested_imports_count() -> None:
    text = "def f():\n    if x:\n        for y in z:\n            import one\n\n\nclass C:\n    import two\n"
    assert needs({"a.py": f"{text}match x:\n    case 1:\n        import three\nasync def g():\n    import four\n"}) == [
        "one", "two", "three", "four",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import x\nexcept (OSError, ModuleNotFoundError):\n    import y\n",
        "try:\n    import x\nexcept:\n    pass\n", "import typing\nif typing.TYPE_CHECKING:\n    from x import y\n",
        "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import x\n",
        "import contextlib\nwith contextlib.suppress(ImportError):\n    import x\n", "import x as y = 3\n",
    ],
)  # fmt: skip
def test_what_a_file_can_do_without_is_not_demanded(text: str) -> None:
    assert set(needs({"a.py": text})) <= {"typing", "sys", "contextlib"}


def test_what_follows_such_a_try_is_demanded() -> None:
    text = "try:\n    import x\nexcept ImportError:\n    x = None\nelse:\n    import y\nfinally:\n    import z\n"
    assert needs({"a.py": text}) == ["y", "z"]
    assert needs({"a.py": "try:\n    import x\nexcept OSError:\n    pass\n"}) == ["x"]


def test_modules_of_the_tree_are_followed_and_not_demanded() -> None:
    files = {
        "tests/test_a.py": "from pkg.part import f\nimport helper\nimport conftest_tool\n",
        "tests/helper.py": "import beside\n",
        "src/pkg/__init__.py": "import from_init\n",
        "src/pkg/part.py": "from . import other\nfrom .deep.inner import g\n",
        "src/pkg/other.py": "import far\n",
        "src/pkg/deep/inner.py": "from ...nothing import h\nimport deepest\n",
        "conftest_tool.py": "",
        "unrelated.py": "import not_reached\n",
    }
    assert sorted(needs(files, "tests/test_a.py")) == ["beside", "deepest", "far", "from_init"]


def test_files_that_build_a_project_are_left_out() -> None:
    assert needs({"setup.py": "import setuptools\n", "docs/conf.py": "import sphinx\n"}) == []


@given(st.text(alphabet="import fromx.y()\n :tryexcpt", max_size=200))
def test_any_text_is_read_or_passed_over(text: str) -> None:
    imports(text)
