from __future__ import annotations

import pytest

from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.variables import read_variables
from tests.support.trees import TextTree

FILE = ".nightshift/environment.yaml"


@pytest.mark.parametrize(
    ("files", "variables"),
    [
        ({"Makefile": "export STAGE = test # x\nexport B:=1\nC = 2\nexport D\nexport E = $(C)\n"},
         {"STAGE": "test", "B": "1"}),
        ({"tox.ini": "[testenv]\nsetenv =\n    STAGE = a=b\n    A = {toxinidir}\n    file|.env\n"}, {"STAGE": "a=b"}),
        ({"tox.ini": "[testenv]\nsetenv = PYTHONPATH=src\n", "Makefile": "export PATH = /\nexport PYTEST_X = x\n"}, {}),
        ({FILE: "env: {STAGE: file}\n", "Makefile": "export STAGE = m\nexport B = 1\n"}, {"STAGE": "file", "B": "1"}),
        ({FILE: "env: {PATH: x}\n", "tox.ini": "[testenv\n", "Makefile": "export B = 1\n"}, {"B": "1"}),
    ],
)  # fmt: skip
def test_variables_are_read_from_what_the_repository_says(files: dict[str, str], variables: dict[str, str]) -> None:
    assert read_variables(DeclaredFiles(TextTree(files))) == variables
