"""The parts of a repository that a prompt shows fit the token budget and are never cut in the middle."""

from __future__ import annotations

from nightshift.agent.file_ranking import interest_in
from nightshift.agent.prompt.context import (
    estimate_tokens,
    list_expected_files,
    show_files,
    surroundings,
)
from nightshift.agent.python_outline import list_wanted_files, local_files, signatures
from nightshift.agent.symbols import SymbolCache
from nightshift.agent.view import View
from nightshift.core.code.tree import FileTree
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase
from tests.support.agent_parts import case_for

WORK = AttemptState(phase=Phase.CODING, base="0" * 40)


def view(**files: str) -> View:
    return View(FileTree({name.replace("__", "/").replace("_py", ".py"): text for name, text in files.items()}), {})


def test_files_are_whole_or_by_signature_or_by_name_but_never_cut() -> None:
    small, long = "x = 1\n", "def f(a: int) -> str:\n    '''Say a.'''\n" + "    pass\n" * 400
    tree = view(a_py=small, b_py=long, c_py="# only a comment\n" * 300)
    section = show_files(tree, ["a.py", "b.py", "c.py"], 150)
    assert (section.in_full, section.outlined, section.named) == (("a.py",), ("b.py",), ("c.py",))
    shown = section.text
    assert "```python path=a.py\nx = 1\n```" in shown
    assert "def f(a: int) -> str  # Say a." in shown
    assert "pass" not in shown
    assert "Too long to be shown: c.py" in shown
    assert estimate_tokens(shown) <= 150
    assert long in show_files(tree, ["b.py"], 2000).text


def test_files_that_are_named_or_imported_come_first() -> None:
    tests = {"test_api.py": "from pkg.api import serve\n"}
    tree = View(
        FileTree({
            "pkg/__init__.py": "", "pkg/api.py": "from pkg.store import save\n", "pkg/store.py": "import json\n",
            "other.py": "", "notes/weather_report.py": "", "test_api.py": "",
        }),
        {},
    )  # fmt: skip
    case = case_for("Make the report of the weather faster", tests=tests)
    surrounding = surroundings(case, WORK, tree, SymbolCache())
    assert surrounding.matter == ("pkg/api.py", "pkg/__init__.py", "pkg/store.py", "notes/weather_report.py")
    shared = case_for("Make the report faster", tests=tests, whole_tree=False)
    assert surroundings(shared, WORK, tree, SymbolCache()).matter == ("pkg/api.py", "pkg/__init__.py", "pkg/store.py")


def test_in_the_shared_workspace_a_task_sees_the_file_that_it_speaks_of_and_what_that_imports() -> None:
    tree = View(
        FileTree({
            "inventory.py": "from stock import Stock\n", "stock.py": "class Stock: ...\n",
            "prices.py": "def add(): ...\n", "tests/test_inventory.py": "import inventory\n",
            "limits.py": "class RateLimiter: ...\n",
        }),
        {},
    )  # fmt: skip
    case = case_for("Add rate limiting to the inventory app", whole_tree=False)
    assert surroundings(case, WORK, tree, SymbolCache()).matter == ("inventory.py", "stock.py")
    named = case_for("Let `RateLimiter` count seconds", whole_tree=False)
    assert surroundings(named, WORK, tree, SymbolCache()).matter == ("limits.py",)
    assert surroundings(case_for("Write slugify(text)", whole_tree=False), WORK, tree, SymbolCache()).matter == ()


def test_the_expected_file_is_what_the_tests_import_or_the_task_names() -> None:
    empty = View(FileTree({}), {})
    tests = {"test_x.py": "import os\nimport pytest\nfrom pkg.mod import f\n"}
    assert list_expected_files(case_for("Do it", tests=tests), WORK, empty) == ["pkg/mod.py"]
    assert list_expected_files(case_for("Write `f` in a new file `pkg/mod.py`."), WORK, empty) == ["pkg/mod.py"]
    assert list_expected_files(case_for("Write a.py and b.py"), WORK, empty) == ["a.py", "b.py"]
    in_src = View(FileTree({"src/pkg/mod.py": ""}), {})
    assert list_expected_files(case_for("Do it", tests=tests), WORK, in_src) == ["src/pkg/mod.py"]
    face = View(FileTree({"pkg/__init__.py": "", "pkg/mod.py": ""}), {})
    of_package = {"tests/test_pkg.py": "import pkg\n\n\ndef test_it():\n    assert pkg.f() == 1\n"}
    assert list_expected_files(case_for("Mend f in pkg/mod.py", tests=of_package), WORK, face) == ["pkg/mod.py"]
    assert list_expected_files(case_for("Mend f", tests=of_package), WORK, face) == ["pkg/__init__.py"]
    both = case_for("Add f to pkg/mod.py and export it from pkg/__init__.py", tests=of_package)
    assert list_expected_files(both, WORK, face) == ["pkg/mod.py", "pkg/__init__.py"]


def test_a_missing_module_belongs_to_the_source_root_of_its_package_or_to_the_path_that_the_task_names() -> None:
    tests = {"tests/test_new.py": "from pkg.new import f\n"}
    in_src = View(FileTree({"src/pkg/__init__.py": ""}), {})
    assert list_expected_files(case_for("Write f", tests=tests), WORK, in_src) == ["src/pkg/new.py"]
    member = View(FileTree({"packages/a/src/pkg/__init__.py": ""}), {})
    for words in ("Add packages/a/src/pkg/new.py with f", "Add f"):
        assert list_expected_files(case_for(words, tests=tests), WORK, member) == ["packages/a/src/pkg/new.py"]


def test_a_new_module_is_not_taken_for_one_of_the_same_name_in_a_package_or_another_project() -> None:
    tests = {"test_slug.py": "from slug import f\n"}
    for words in ("Write slug.py", "Write f"):
        inside = View(FileTree({"tools/__init__.py": "", "tools/slug.py": ""}), {})
        assert list_expected_files(case_for(words, tests=tests), WORK, inside) == ["slug.py"]
        others = View(FileTree({"words/slug.py": ""}), {})
        shared = case_for(words, tests=tests, whole_tree=False)
        assert list_expected_files(shared, WORK, others) == ["slug.py"]
    named = case_for("Write slug.py", tests=tests)
    assert list_expected_files(named, WORK, others) == ["slug.py"]


def test_a_module_of_a_library_is_no_file_to_write() -> None:
    tests = {
        "shop/test_it.py": "from django.test import TestCase\nimport requests\nimport slugify\nfrom shop.a import f\n"
    }
    tree = View(FileTree({"requirements.txt": "Requests>=2\n", "shop/__init__.py": "", "shop/a.py": ""}), {})
    assert list_expected_files(case_for("f is wrong", tests=tests), WORK, tree) == ["slugify.py", "shop/a.py"]
    ours = View(FileTree({"src/django/__init__.py": ""}), {})
    assert "src/django/test.py" in list_expected_files(case_for("f is wrong", tests=tests), WORK, ours)


def test_a_package_that_passes_a_name_on_stands_for_the_file_that_defines_it() -> None:
    python = View(FileTree({"pkg/__init__.py": "from pkg.a import f\nfrom pkg.b import g\n",
                            "pkg/a.py": "def f(): ...\n", "pkg/b.py": "def g(): ...\n"}), {})  # fmt: skip
    of_package = {"tests/test_pkg.py": "from pkg import g\n"}
    assert list_expected_files(case_for("g() is wrong", tests=of_package), WORK, python) == ["pkg/b.py"]
    member = {f"packages/a/src/{path}": python.text(path) or "" for path in python.paths()}
    of_member = View(FileTree(member), {})
    assert list_expected_files(case_for("g() is wrong", tests=of_package), WORK, of_member) == [
        "packages/a/src/pkg/b.py"
    ]
    in_a = case_for("Mend packages/a/src/pkg/a.py", tests=of_package)
    assert list_expected_files(in_a, WORK, of_member) == ["packages/a/src/pkg/a.py"]
    script = View(FileTree({"src/index.js": "export { mean } from './numbers.js';\nexport { cut } from './text.js';\n",
                            "src/numbers.js": "export function mean(v) {}\n", "src/text.js": ""}), {})  # fmt: skip
    of_script = {"test/mean.test.js": "import { mean } from '../src/index.js';\n"}
    assert list_expected_files(case_for("mean([]) is NaN", tests=of_script), WORK, script) == ["src/numbers.js"]


def test_signatures_show_the_face_of_a_module() -> None:
    text = (
        "LIMIT = 3\n_x = 1\n\n\nclass A(Base):\n    '''An A.'''\n\n    n: int = 0\n\n"
        "    async def f(self, *a, k=1) -> None: ...\n"
    )
    assert signatures(text) == [
        "LIMIT = …",
        "class A(Base)  # An A.",
        "    n = …",
        "    async def f(self, *a, k=1) -> None",
    ]
    assert signatures("def (") == []


def test_imports_are_followed_to_files_of_the_repository_only() -> None:
    text = "import os\nimport pkg.a\nfrom pkg import b\nfrom . import c\nimport numpy\n"
    assert local_files(text, {"pkg/a.py", "pkg/b/__init__.py", "pkg/c.py", "os.py"}) == [
        "os.py",
        "pkg/a.py",
        "pkg/b/__init__.py",
    ]
    assert list_wanted_files("import os, hypothesis\nimport thing\nfrom pkg.mod import f\n", set()) == [
        "thing.py",
        "pkg/mod.py",
    ]


def test_binary_files_are_not_shown_and_old_encodings_are() -> None:
    class Raw(FileTree):
        def read(self, path: str) -> bytes:
            return {"a.bin": b"\x00\x01", "b.txt": "ä".encode("latin-1"), "c.txt": b"ok\n"}[path]

    raw = View(Raw({"a.bin": "", "b.txt": "", "c.txt": ""}), {"d.txt": "new\n", "c.txt": None})
    assert [raw.text(path) for path in ("a.bin", "b.txt", "c.txt", "d.txt")] == [None, "ä", None, "new\n"]
    assert raw.paths() == ["a.bin", "b.txt", "d.txt"]
    assert "c.txt" not in raw


def _long_module() -> str:
    filler = [f"def helper_{n}(x):\n    return x + {n}\n\n\n" for n in range(900)]
    bar = (
        "class ProgressBar:\n    width = 30\n\n    def __init__(self):\n        self.eta_known = False\n\n"
        "    def format_eta(self):\n        return ''\n\n\n"
    )
    return "import time\n\n\n" + "".join([*filler[:450], bar, *filler[450:]])


def test_of_a_long_file_the_stretches_that_the_task_is_about_are_shown_as_they_are() -> None:
    text = _long_module()
    interest = interest_in("The ETA of `ProgressBar` is empty")
    section = show_files(View(FileTree({"bar.py": text, "other.py": text}), {}), ["bar.py"], 3000, interest=interest)
    assert section.outlined == ("bar.py",)
    assert not section.in_full
    line = text[: text.index("class ProgressBar")].count("\n") + 1
    stretch = text[text.index("class ProgressBar") : text.index("        return ''\n") + len("        return ''\n")]
    assert f"bar.py, lines {line} to {line + 7} of " in section.text
    assert f"```python\n{stretch}```" in section.text
    assert "    class ProgressBar\n" in section.text
    assert section.text.count("def helper_") < 70
    assert estimate_tokens(section.text) <= 3000
