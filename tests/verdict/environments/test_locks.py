from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code.listing import Listing
from nightshift.core.errors import SandboxError
from nightshift.verdict.environments.locks import (
    MOST_PACKAGES,
    Declaration,
    Reader,
    is_for_tests,
    list_included,
    requirement_files,
)
from nightshift.verdict.languages.python.package_layout import OwnPackage

OWN = OwnPackage(name="shop", extras={"fast": ("quick",), "docs": ("sphinx",)}, groups={"test": ("tidewave>=2",)})


def sha(name: str) -> str:
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def reader(version: str = "3.11.2") -> Reader:
    return Reader(version, {"pytest": "9.2.0", "pluggy": "1.7.0"})


def names(declaration: Declaration) -> dict[str, str]:
    return {pin.key: pin.version for pin in declaration.pinned}


INDEX = 'registry = "https://evil.example/simple"'
UV = """
version = 1
[[package]]
name = "shop"
version = "1.0"
source = { editable = "." }
dependencies = [
  { name = "moonphase" },
  { name = "winonly", marker = "sys_platform == 'win32'" },
  { name = "split", version = "1.0", marker = "python_full_version < '3.12'" },
  { name = "split", version = "2.0", marker = "python_full_version >= '3.12'" },
  { name = "fromgit" }, { name = "frompath" }, { name = "fromurl" },
]
[package.optional-dependencies]
test = [{ name = "tested" }]
gpu = [{ name = "heavy" }]
[package.dev-dependencies]
dev = [{ name = "pytest" }, { name = "devtool", extra = ["fast"] }]
docs = [{ name = "sphinx" }]
""" + "".join(
    f"""
[[package]]
name = "{name}"
version = "{version}"
source = {{ {source} }}
wheels = [{{ url = "https://evil.example/{name}.whl", hash = "{sha(name + version)}", size = 1 }}]
{more}
"""
    for name, version, more, source in (
        ("moonphase", "1.0", 'dependencies = [{ name = "tidewave" }]', INDEX), ("tidewave", "2.0", "", INDEX),
        ("winonly", "1", "", INDEX), ("split", "1.0", "", INDEX), ("split", "2.0", "", INDEX),
        ("tested", "1", "", INDEX), ("heavy", "1", "", INDEX), ("pytest", "8.0", "", INDEX),
        ("devtool", "1", "[package.optional-dependencies]\nfast = [{ name = 'quick' }]", INDEX),
        ("quick", "3", "", INDEX), ("sphinx", "7", "", INDEX), ("fromgit", "1", "", 'git = "https://evil.example/r?rev=1"'),
        ("frompath", "1", "", 'directory = "../elsewhere"'), ("fromurl", "1", "", 'url = "file:///etc/passwd"'),
    )
)  # fmt: skip


def test_of_a_uv_lock_what_tests_of_this_python_need_is_taken_and_nothing_else() -> None:
    declaration = reader().of_lock("uv.lock", UV, OWN)
    assert names(declaration) == {
        "moonphase": "1.0", "tidewave": "2.0", "split": "1.0", "tested": "1", "devtool": "1", "quick": "3",
    }  # fmt: skip
    assert names(reader("3.12.1").of_lock("uv.lock", UV, OWN))["split"] == "2.0"
    remarks = "; ".join(declaration.remarks)
    assert all(f"{name} does not come from an index" in remarks for name in ("fromgit", "frompath", "fromurl"))
    assert "pytest 9.2.0 of the test libraries is used instead of 8.0" in remarks
    assert all(pin.hashes == (sha(pin.name + pin.version),) for pin in declaration.pinned)
    assert not any("evil.example" in pin.line for pin in declaration.pinned), "an index is the machine's business"


def entry(more: str, name: str = "one", version: str = "1.0") -> str:
    """Return a package of a lock of poetry or pdm, with a hash."""
    head = f"[[package]]\nname = {json.dumps(name)}\nversion = {json.dumps(version)}\n"
    return f"{head}files = [{{file = 'one.whl', hash = '{sha('one')}'}}]\n{more}\n"


def read(lock: str, text: str) -> Declaration:
    return reader().of_lock(lock, text, OWN)


def test_a_poetry_lock_of_either_format_is_read() -> None:
    text = (
        entry("groups = ['main']") + entry("groups = ['docs']", "two")
        + entry("groups = ['test']\nmarkers = \"sys_platform == 'win32'\"", "three")
        + entry("[package.source]\ntype = 'git'\nurl = 'https://evil.example'", "four")
    )  # fmt: skip
    declaration = read("poetry.lock", text)
    assert names(declaration) == {"one": "1.0"}
    assert declaration.remarks == ("four does not come from an index (git); it is left out",)
    old = f"[[package]]\nname = 'one'\nversion = '1.0'\n[metadata.files]\none = [{{hash = '{sha('x')}'}}]\n"
    assert names(read("poetry.lock", old)) == {"one": "1.0"}


def test_pdm_locks_and_pylock_files_are_read() -> None:
    pdm = entry("groups = ['default', 'lint']") + entry("groups = ['lint']", "two") + entry("path = '../x'", "three")
    assert names(read("pdm.lock", pdm)) == {"one": "1.0"}
    pylock = "lock-version = '1.0'\ndependency-groups = ['test', 'docs']\n" + "".join(
        f"[[packages]]\nname = '{name}'\nversion = '1.0'\n{more}\n"
        f"wheels = [{{name = 'x.whl', hashes = {{sha256 = '{sha('one')[7:]}'}}}}]\n"
        for name, more in (
            ("one", ""), ("two", "marker = \"'docs' in dependency_groups\""),
            ("three", "marker = \"'test' in dependency_groups\""), ("four", "vcs = {type = 'git'}"),
        )
    )  # fmt: skip
    assert names(read("pylock.toml", pylock)) == {"one": "1.0", "three": "1.0"}


def test_a_name_or_a_version_in_a_lock_that_is_none_is_left_out_and_told() -> None:
    bad_names = ("../../etc/passwd", "--index-url=https://evil.example", "x\n--find-links /")
    bad_versions = ("1.0 --hash=sha256:0", "file:///x", "", "1.0; import os")
    for text in (*(entry("", name) for name in bad_names), *(entry("", version=each) for each in bad_versions)):
        declaration = read("poetry.lock", text)
        assert not declaration.pinned
        assert any("is not a valid name and version" in remark for remark in declaration.remarks)


def test_a_lock_without_hashes_pins_nothing() -> None:
    declaration = read("poetry.lock", "[[package]]\nname = 'one'\nversion = '1.0'\nfiles = []\n")
    assert not declaration.pinned
    assert declaration.remarks == ("one has no hash in the lock; it is left out",)


def test_a_lock_that_names_too_much_or_cannot_be_read_is_refused() -> None:
    with pytest.raises(SandboxError, match="the limit is"):
        read("poetry.lock", "".join(entry("", f"p{number}") for number in range(MOST_PACKAGES + 1)))
    for text in ("[[package]\n", "package = 3\n", "[[package]]\nversion = 1\n"):
        with pytest.raises(SandboxError, match=r"cannot be read"):
            read("uv.lock", text)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    for lock in ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"):
        try:
            reader().of_lock(lock, text, OWN)
        except SandboxError:
            continue
    reader().of_requirements({"requirements.txt": text}, ["requirements.txt"], OWN)


def test_requirement_files_with_what_they_include_are_taken_without_places_and_options() -> None:
    texts = {
        "requirements/test.txt": (
            "-r ../requirements.txt\n-c limits.txt\n-r ../../outside.txt\n--index-url https://evil.example/simple\n"
            "-e .[fast]\n./local\nhttps://evil.example/x.whl\nnamed @ file:///etc/passwd\ngit+https://evil.example/x\n"
            f"tidewave==2.0 \\\n    --hash={sha('tide')}  # a comment\nwinonly; sys_platform == 'win32'\n"
        ),
        "requirements.txt": "moonphase[extra] >= 1, < 2\npytest<8\nshop\n",
        "requirements/limits.txt": "moonphase<1.5\n",
    }
    declaration = reader().of_requirements(texts, ["requirements/test.txt"], OWN)
    lines = [line for group in declaration.groups for line in group]
    assert sorted(lines) == ["moonphase[extra]<2,>=1", "quick", "tidewave==2.0", "tidewave>=2"]
    assert declaration.constraints == ("moonphase<1.5",)
    assert declaration.hashes == {"tidewave": (sha("tide"),)}
    remarks = "; ".join(declaration.remarks)
    assert all(each in remarks for each in (
        "the option --index-url in requirements/test.txt is ignored", "./local", "https://evil.example/x.whl",
        "named in requirements/test.txt does not come from an index", "git+https", "../../outside.txt",
        "pytest 9.2.0 of the test libraries is used, although the repository asks for pytest<8",
    ))  # fmt: skip


def test_the_requirement_files_that_tests_may_need_are_known_by_name() -> None:
    paths = {
        "requirements-dev.txt", "requirements/tests.txt", "requirements/tests.in", "requirements/docs.txt",
        "docs/requirements.txt", "dev-requirements.in", "a/tests.txt",
    }  # fmt: skip
    assert requirement_files(Listing(dict.fromkeys(paths, "")), "") == [
        "dev-requirements.in", "requirements-dev.txt", "requirements/tests.txt",
    ]  # fmt: skip
    included = list_included("-r base.txt\n-c../c.txt\n-r /etc/passwd\n", "requirements/x.txt")
    assert list(included) == ["requirements/base.txt", "c.txt"]
    assert all(map(is_for_tests, ("test", "dev", "all-tests")))
    assert not any(map(is_for_tests, ("docs", "dev-docs", "gpu")))
