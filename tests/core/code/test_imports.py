from __future__ import annotations

import pytest

from nightshift.core.code.imports import Import, facts_of


def test_imports_of_every_form_are_listed() -> None:
    text = "import a.b as x\nfrom c import d, e\nfrom . import f\nfrom ..g.h import *\ndef late():\n    import i\n"
    assert set(facts_of("m.py", text.encode()).imports) == {
        Import(module="a.b"),
        Import(module="c", names=("d", "e")),
        Import(module="", level=1, names=("f",)),
        Import(module="g.h", level=2, names=("*",)),
        Import(module="i"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "import importlib",
        "import subprocess",
        "from glob import glob",
        "__import__('x')",
        "exec('import x')",
        "from pathlib import Path\nlist(Path('.').iterdir())",
        "import sys\nsys.path.append('lib')",
        "Path('data_%s' % n())",
        "def broken(:",
    ],
)
def test_what_may_reach_unseen_files_is_dynamic(text: str) -> None:
    assert facts_of("m.py", text.encode()).dynamic


@pytest.mark.parametrize(
    "text", ["import ast\nast.walk(tree)", "open('data.json')", "from importlib.metadata import version"]
)
def test_what_names_its_files_is_not(text: str) -> None:
    assert not facts_of("m.py", text.encode()).dynamic
