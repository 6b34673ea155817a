"""The parts of a repository that a prompt shows fit the token budget and are never cut in the middle."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.file_ranking import interest_in
from nightshift.agent.library import FileTree
from nightshift.agent.prompt.context import (
    estimate_tokens,
    list_expected_files,
    list_mentioned,
    listing,
    show_files,
    surroundings,
)
from nightshift.agent.prompt.excerpts import parts
from nightshift.agent.python_outline import list_wanted_files, local_files, signatures
from nightshift.agent.symbols import SymbolCache
from nightshift.agent.view import View, settle
from nightshift.core.tasks.attempt_state import AttemptState
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import digest
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


HABITS = {
    "README.md": "# habits\n\nkeeps habits\n", "requirements.txt": "pytest\n",
    "habits.py": "def streak(days): ...\n", "export.py": "from habits import streak\n",
    "tests/test_habits.py": "from habits import streak\n", "tests/test_colours.py": "import colours\n",
}  # fmt: skip


def test_of_its_project_a_task_sees_the_tests_that_it_may_contradict() -> None:
    tree = View(FileTree({**HABITS, "colours.py": "RED = 1\n"}), {})
    case, work = case_for("A streak of habits counts due days", whole_tree=False), replace(WORK, project="habits")
    paths = surroundings(case, work, tree, SymbolCache()).matter
    assert paths == ("habits.py", "README.md", "requirements.txt", "tests/test_habits.py")
    own = replace(work, own_tests={"tests/test_habits.py": "from habits import streak\n"})
    paths = surroundings(case, own, tree, SymbolCache()).matter
    assert "tests/test_habits.py" not in paths  # the prompt already shows this file as the task's tests


def test_before_the_project_is_chosen_the_sources_of_the_one_that_the_task_speaks_of_are_shown() -> None:
    other = {"shop/README.md": "# shop\n", "shop/requirements.txt": "", "shop/till.py": "def change(): ...\n"}
    tree = View(FileTree({**{f"habits/{path}": text for path, text in HABITS.items()}, **other}), {})
    case = case_for("A streak of habits counts due days", whole_tree=False)
    paths = surroundings(case, WORK, tree, SymbolCache()).matter
    assert paths == ("habits/habits.py", "habits/README.md", "habits/export.py")


def test_a_task_names_files_by_path_or_by_a_name_that_only_one_has() -> None:
    tree = View(FileTree({"a/mod.py": "", "b/mod.py": "", "a/one.py": ""}), {"b/new.py": ""})
    assert list_mentioned("see one.py, new.py and a/mod.py.", tree) == ["a/mod.py", "a/one.py", "b/new.py"]
    assert list_mentioned("see mod.py", tree) == []
    assert list_mentioned("see one.py and a/mod.py.", tree, by_name=False) == ["a/mod.py"]


def test_a_text_of_any_kind_can_be_searched_for_names() -> None:
    for text in ("a" * 100_000, "a." * 50_000, "./" * 50_000, "- " * 50_000, "a.b-" * 25_000):
        list_mentioned(text, View(FileTree({}), {}))


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


def test_a_wrong_import_in_a_test_of_its_own_is_no_expected_file() -> None:
    empty = View(FileTree({}), {})
    own = replace(WORK, own_tests={"test/add.test.mjs": 'import { add } from "./src/add.mjs";\n'})
    case = case_for("Write `add` in src/add.mjs", language="javascript")
    assert list_expected_files(case, own, empty) == ["src/add.mjs"]


def test_a_large_repository_is_listed_by_folders_and_the_shared_one_by_some_of_its_names() -> None:
    tree = View(FileTree({f"d{n % 3}/f{n}.py": "" for n in range(200)}), {})
    assert "d0/ (67 files)" in listing(tree, [], whole_tree=True).text
    own = listing(tree, ["d0/f0.py"], whole_tree=False).text
    assert "d0/f0.py" in own
    assert own.count("/f") == 61
    assert "and 139 more" in own
    beside = listing(View(FileTree({"a.py": "", "tests/test_a.py": ""}), {}), [], whole_tree=False).text
    assert "a.py\nand 1 more" in beside
    assert listing(View(FileTree({}), {}), [], whole_tree=True).text == "The repository is empty."


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


def test_a_change_is_kept_without_what_leaves_the_base_as_it_is() -> None:
    tree = FileTree({"a.py": "1\n", "b.py": "2\n"})
    assert settle(tree, {"b.py": None, "a.py": "1\n", "gone.py": None, "c.py": ""}) == {"b.py": None, "c.py": ""}


def test_the_same_work_has_the_same_digest_and_other_work_another() -> None:
    first = digest({"a": "x", "b": None}, {})
    assert first == digest({"b": None, "a": "x"}, {})
    others = [
        digest({"a": "xb"}, {}),
        digest({"a": "x"}, {"b": ""}),
        digest({"a": "x", "b": ""}, {}),
        digest({}, {"a": "x"}),
    ]
    assert len({first, *others}) == 5


def test_binary_files_are_not_shown_and_old_encodings_are() -> None:
    class Raw(FileTree):
        def read(self, path: str) -> bytes:
            return {"a.bin": b"\x00\x01", "b.txt": "ä".encode("latin-1"), "c.txt": b"ok\n"}[path]

    raw = View(Raw({"a.bin": "", "b.txt": "", "c.txt": ""}), {"d.txt": "new\n", "c.txt": None})
    assert [raw.text(path) for path in ("a.bin", "b.txt", "c.txt", "d.txt")] == [None, "ä", None, "new\n"]
    assert raw.paths() == ["a.bin", "b.txt", "d.txt"]
    assert "c.txt" not in raw


def test_a_signature_stands_below_its_decorators_which_hold_routes_and_defaults() -> None:
    text = "@app.get('/items')\n@option('--limit', default=10)\ndef items(limit):\n    return []\n"
    assert signatures(text) == ["@app.get('/items')", "@option('--limit', default=10)", "def items(limit)"]


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


def test_a_document_of_the_root_is_named_without_its_ending() -> None:
    files = dict.fromkeys(("README.md", "docs/README.md", "CHANGELOG.rst", "changes/changelog.py", "a.py"), "x = 1\n")
    view = View(FileTree(files), {})
    assert list_mentioned("Say it in the README and the changelog", view) == ["CHANGELOG.rst", "README.md"]
    assert list_mentioned("Mend a.py", view) == ["a.py"]


def test_what_uses_a_name_of_the_task_is_shown_and_of_a_very_long_function_its_beginning() -> None:
    fold = "def fold(text):\n    return text if KEEP_ENDS else text.strip()\n\n\n"
    body = "".join(f"    text = text.replace('{n}', 'spaces')\n" for n in range(400))
    text = f"KEEP_ENDS = False\n\n\n{_long_module()}{fold}def tidy(text, width=80):\n{body}    return fold(text)\n"
    interest = interest_in("tidy() strips spaces unless KEEP_ENDS is set; let a call say keep_ends=True")
    section_text = show_files(View(FileTree({"tidy.py": text}), {}), ["tidy.py"], 2000, interest=interest).text
    assert "```python\nKEEP_ENDS = False\n```" in section_text
    assert fold.strip() in section_text
    assert "def tidy(text, width=80):\n    text = text.replace('0', 'spaces')\n" in section_text


def test_a_long_file_that_the_task_says_nothing_about_is_shown_by_its_signatures_alone() -> None:
    shown = show_files(
        View(FileTree({"long.py": _long_module()}), {}), ["long.py"], 3000, interest=interest_in("Mend long.py")
    )
    assert ", lines " not in shown.text
    assert "def helper_0(x)" in shown.text


def test_one_long_file_leaves_room_for_the_others() -> None:
    long, short = "# a line of words\n" * 500, "x = 1\n"
    files = {"long.py": long, "short.py": short * 300}
    room = estimate_tokens(long) + 100
    section = show_files(View(FileTree(files), {}), list(files), room, interest=interest_in("x"))
    assert section.in_full == ("short.py",)
    assert show_files(View(FileTree(files), {}), ["long.py"], room + 100, interest=interest_in("x")).in_full == (
        "long.py",
    )


@given(st.text(max_size=300), st.sampled_from(["a.py", "a.mjs", "a.txt"]))
def test_whatever_a_file_holds_its_parts_are_lines_of_it_in_order(text: str, path: str) -> None:
    file_parts = parts(path, text)
    assert [part.first for part in file_parts] == sorted(part.first for part in file_parts)
    assert all(part.first >= 1 for part in file_parts)
