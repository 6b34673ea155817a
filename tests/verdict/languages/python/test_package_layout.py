from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.languages.python import package_layout
from nightshift.verdict.languages.python.package_layout import OwnPackage, find_members, read


def package(files: Mapping[str, str]) -> OwnPackage:
    return read(files.get, files.keys())


PEP621 = """
[project]
name = "shop"
version = "1.2"
description = "Adds up"
requires-python = ">=3.10"
dependencies = ["click"]
optional-dependencies = { test = ["tidewave"] }
scripts = { shop = "shop.cli:main", "../evil" = "shop:x", bad = "os; system('x')" }
[project.entry-points.pytest11]
shop = "shop.plugin"
[dependency-groups]
base = ["a"]
test = ["b", { include-group = "base" }, { include-group = "test" }]
"""


def test_what_pyproject_says_is_read() -> None:
    layout = package({"pyproject.toml": PEP621, "src/shop/__init__.py": ""})
    assert (layout.name, layout.version, layout.roots, layout.requires_python) == ("shop", "1.2", ("src",), ">=3.10")
    assert (layout.requires, layout.extras, layout.groups["test"]) == (("click",), {"test": ("tidewave",)}, ("b", "a"))
    assert layout.entry_points == {"console_scripts": {"shop": "shop.cli:main"}, "pytest11": {"shop": "shop.plugin"}}
    assert ("Summary", "Adds up") in layout.about


DYN = "[project]\nname = 'shop'\ndynamic = ['version']\n"


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": f"{DYN}[tool.setuptools.dynamic]\nversion = {{attr = 'shop.__version__'}}\n",
         "src/shop/__init__.py": "__version__: str = '3.4'\n"},
        {"pyproject.toml": f"{DYN}[tool.setuptools.dynamic]\nversion = {{file = ['VERSION']}}\n",
         "VERSION": "v3.4\n"},
        {"pyproject.toml": f"{DYN}[tool.hatch.version]\npath = 'shop/about.py'\n",
         "shop/about.py": "__version__ = '3.4'"},
        {"pyproject.toml": f"{DYN}[tool.setuptools_scm]\n",
         "PKG-INFO": "Name: shop\nVersion: 3.4\n\nVersion: 9\n"},
        {"setup.cfg": "[metadata]\nname = shop\nversion = attr: shop.__version__\n",
         "shop/__init__.py": "__version__ = '3.4'"},
        {"setup.py": "from setuptools import setup\nV = '3.4'\nsetup(name='shop', version=V)\n"},
    ],
)  # fmt: skip
def test_a_version_is_found_where_it_is_kept_and_nothing_is_executed(files: dict[str, str]) -> None:
    layout = package(files)
    assert (layout.name, layout.version) == ("shop", "3.4")


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ("", "0.0.0"), ("v1.2.3-0-gabc123", "1.2.3"), ("1.2-5-gabc", "1.3.dev5+gabc"), ("v1-b2-1-gab", "0.0.0"),
        ("pkg-v1.0rc1-3-gab", "1.0rc2.dev3+gab"), ("v1.2-beta-3-gabc", "0.0.0"),
    ],
)  # fmt: skip
def test_a_tag_stands_for_a_version(described: str, version: str) -> None:
    assert package_layout.tag_version(described) == version


def test_what_a_build_writes_the_version_into_lies_in_the_repository_and_is_python() -> None:
    layout = package({
        "pyproject.toml": f"{DYN}[tool.setuptools_scm]\nversion_file = 'src/shop/_v.py'\nwrite_to = '../x.py'\n"
        "[tool.hatch.build.hooks.vcs]\nversion-file = '/etc/y.py'\n[tool.pdm.version]\nwrite_to = './V.txt'\n",
    })  # fmt: skip
    assert layout.version_files == ("src/shop/_v.py", "V.txt")
    names: dict[str, object] = {}
    exec(package_layout.version_text("_v.py", "1.2rc1.dev3+gab"), names)
    assert (names["version"], names["__version_tuple__"]) == ("1.2rc1.dev3+gab", (1, "2rc1", "dev3", "gab"))
    assert package_layout.version_text("V.txt", "1.2") == "1.2\n"


def test_setup_files_are_read_as_data() -> None:
    layout = package({
        "setup.py": (
            "import os\nos.abort()\nNEEDS = ['click']\n"
            "setup(name='shop', install_requires=NEEDS, package_dir={'': 'lib'}, extras_require={'test': ['b']},\n"
            "      entry_points={'console_scripts': ['shop = shop.cli:main']}, version=os.environ['V'])\n"
        )
    })  # fmt: skip
    assert (layout.name, layout.requires, layout.roots, layout.version) == ("shop", ("click",), ("lib",), "0.0.0")
    assert (layout.extras, layout.entry_points) == ({"test": ("b",)}, {"console_scripts": {"shop": "shop.cli:main"}})
    cfg = (
        "[metadata]\nname = shop\n[options]\ninstall_requires =\n    click\n    b>=1\npackage_dir =\n    =src\n"
        "[options.entry_points]\nconsole_scripts =\n    shop = shop.cli:main\n"
    )
    layout = package({"setup.cfg": cfg})
    assert (layout.requires, layout.roots) == (("click", "b>=1"), ("src",))
    assert layout.entry_points == {"console_scripts": {"shop": "shop.cli:main"}}


def test_what_poetry_says_is_read_as_specifiers() -> None:
    text = (
        "[tool.poetry]\nname = 'shop'\nversion = '1'\n[tool.poetry.dependencies]\npython = '^3.10'\na = '^1.2.3'\n"
        "b = '~1.4'\nc = '*'\nd = {version = '>=2', extras = ['x'], markers = \"sys_platform == 'linux'\"}\n"
        "e = {git = 'https://evil.example/e'}\n[tool.poetry.group.test.dependencies]\nt = '0.2'\n"
    )
    layout = package({"pyproject.toml": text})
    assert layout.requires == (
        "a>=1.2.3,<2", "b>=1.4,<1.5", "c", "d[x]>=2 ; sys_platform == 'linux'", "e @ https://evil.example/e",
    )  # fmt: skip
    assert (layout.groups, layout.requires_python) == ({"test": ("t==0.2",)}, ">=3.10,<4")


def test_folders_outside_of_the_repository_are_no_roots() -> None:
    text = "[tool.setuptools]\npackage-dir = {'' = '../elsewhere'}\n"
    text += "[tool.setuptools.packages.find]\nwhere = ['/etc', 'lib']\n"
    assert package({"pyproject.toml": text}).roots == ("lib",)


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read(pyproject: str, cfg: str, setup: str) -> None:
    package({"pyproject.toml": pyproject, "setup.cfg": cfg, "setup.py": setup})


MEMBER = '[project]\nname = "shop"\n'


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        (
            {"packages/core/pyproject.toml": MEMBER, "packages/core/src/shop_core/__init__.py": ""},
            ("packages/core/src",),
        ),
        (
            {"core/pyproject.toml": '[tool.poetry]\nname = "c"\npackages = [{include = "c", from = "lib"}]\n'},
            ("core/lib",),
        ),
        ({"core/pyproject.toml": "[tool.ruff]\n"}, ()),
        ({"tests/data/pyproject.toml": MEMBER, "vendor/x/setup.cfg": "[metadata]\nname = x\n"}, ()),
    ],
)
def test_the_packages_below_the_root_are_its_members(files: dict[str, str], roots: tuple[str, ...]) -> None:
    assert find_members(files.get, files) == roots
