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
source = {{ registry = "https://evil.example/simple" }}
wheels = [{{ url = "https://evil.example/{name}.whl", hash = "{sha(name + version)}", size = 1 }}]
{more}
"""
    for name, version, more in (
        ("moonphase", "1.0", 'dependencies = [{ name = "tidewave" }]'), ("tidewave", "2.0", ""), ("winonly", "1", ""),
        ("split", "1.0", ""), ("split", "2.0", ""), ("tested", "1", ""), ("heavy", "1", ""), ("pytest", "8.0", ""),
        ("devtool", "1", "[package.optional-dependencies]\nfast = [{ name = 'quick' }]"), ("quick", "3", ""),
        ("sphinx", "7", ""),
    )
) + """
[[package]]
name = "fromgit"
version = "1"
source = { git = "https://evil.example/repo?rev=1" }
[[package]]
name = "frompath"
version = "1"
source = { directory = "../elsewhere" }
[[package]]
name = "fromurl"
version = "1"
source = { url = "file:///etc/passwd" }
"""  # fmt: skip


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


def test_a_poetry_lock_of_either_format_is_read() -> None:
    text = (
        f"[[package]]\nname = 'one'\nversion = '1.0'\noptional = false\ngroups = ['main']\n"
        f"files = [{{file = 'one.whl', hash = '{sha('one')}'}}]\n"
        f"[[package]]\nname = 'two'\nversion = '1.0'\noptional = false\ngroups = ['docs']\n"
        f"files = [{{file = 'two.whl', hash = '{sha('two')}'}}]\n"
        f"[[package]]\nname = 'three'\nversion = '1.0'\noptional = false\ngroups = ['test']\n"
        f"markers = \"sys_platform == 'win32'\"\nfiles = [{{file = 'three.whl', hash = '{sha('three')}'}}]\n"
        f"[[package]]\nname = 'four'\nversion = '1.0'\noptional = false\nfiles = []\n"
        f"[package.source]\ntype = 'git'\nurl = 'https://evil.example'\n"
    )
    declaration = reader().of_lock("poetry.lock", text, OWN)
    assert names(declaration) == {"one": "1.0"}
    assert any("four does not come from an index (git)" in remark for remark in declaration.remarks)
    old = "[[package]]\nname = 'one'\nversion = '1.0'\noptional = false\n[metadata.files]\n"
    old += f"one = [{{hash = '{sha('x')}'}}]\n"
    assert names(reader().of_lock("poetry.lock", old, OWN)) == {"one": "1.0"}


def test_pdm_locks_and_pylock_files_are_read() -> None:
    pdm = (
        "[[package]]\nname = 'one'\nversion = '1.0'\ngroups = ['default', 'lint']\n"
        f"files = [{{file = 'one.whl', hash = '{sha('one')}'}}]\n"
        f"[[package]]\nname = 'two'\nversion = '1.0'\ngroups = ['lint']\nfiles = [{{hash = '{sha('x')}'}}]\n"
        f"[[package]]\nname = 'three'\nversion = '1.0'\ngroups = ['default']\npath = '../x'\n"
    )
    assert names(reader().of_lock("pdm.lock", pdm, OWN)) == {"one": "1.0"}
    wheel = f"wheels = [{{name = 'x.whl', hashes = {{sha256 = '{sha('one')[7:]}'}}}}]"
    pylock = (
        f"lock-version = '1.0'\ndependency-groups = ['test', 'docs']\n"
        f"[[packages]]\nname = 'one'\nversion = '1.0'\n{wheel}\n"
        f"[[packages]]\nname = 'two'\nversion = '1.0'\nmarker = \"'docs' in dependency_groups\"\n{wheel}\n"
        f"[[packages]]\nname = 'three'\nversion = '1.0'\nmarker = \"'test' in dependency_groups\"\n{wheel}\n"
        f"[[packages]]\nname = 'four'\nversion = '1.0'\n[packages.vcs]\ntype = 'git'\n"
    )
    assert names(reader().of_lock("pylock.toml", pylock, OWN)) == {"one": "1.0", "three": "1.0"}


def test_a_name_or_a_version_in_a_lock_that_is_none_is_left_out_and_told() -> None:
    bad_names = [
        (name, "1.0") for name in ("../../etc/passwd", "--index-url=https://evil.example", "x\n--find-links /")
    ]
    bad_versions = [("one", version) for version in ("1.0 --hash=sha256:0", "file:///x", "", "1.0; import os")]
    for name, version in (*bad_names, *bad_versions):
        head = f"[[package]]\nname = {json.dumps(name)}\nversion = {json.dumps(version)}\n"
        declaration = reader().of_lock("poetry.lock", f"{head}files = [{{hash = '{sha('x')}'}}]\n", OWN)
        assert not declaration.pinned
        assert any("is not a valid name and version" in remark for remark in declaration.remarks)


def test_a_lock_without_hashes_pins_nothing() -> None:
    declaration = reader().of_lock("poetry.lock", "[[package]]\nname = 'one'\nversion = '1.0'\nfiles = []\n", OWN)
    assert not declaration.pinned
    assert "one has no hash in the lock; it is left out" in declaration.remarks


def test_a_lock_that_names_too_much_or_cannot_be_read_is_refused() -> None:
    many = "".join(
        f"[[package]]\nname = 'p{n}'\nversion = '1'\nfiles = [{{hash = '{sha('x')}'}}]\n"
        for n in range(MOST_PACKAGES + 1)
    )
    with pytest.raises(SandboxError, match="the limit is"):
        reader().of_lock("poetry.lock", many, OWN)
    for text in ("[[package]\n", "package = 3\n", "[[package]]\nversion = 1\n"):
        with pytest.raises(SandboxError, match=r"cannot be read"):
            reader().of_lock("uv.lock", text, OWN)


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
