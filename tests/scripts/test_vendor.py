"""The browser libraries are exactly the pinned ones, and no other file can be added."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.vendor import FOLDER, MAKES_CODE, Refused, digest, faults, put_in_layer, relative


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder: Path = shutil.copytree(FOLDER, tmp_path / "vendor")
    return folder


def change_it(path: Path, change: Any) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_the_vendored_files_are_as_pinned() -> None:
    assert list(faults(FOLDER)) == []


def test_the_check_needs_neither_node_nor_a_network() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/vendor.py", "--check"], env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "the vendored files are as pinned\n"), done.stderr


def test_a_change_by_hand_is_noticed(copy: Path) -> None:
    with (copy / "preact.js").open("a") as file:
        file.write("// harmless\n")
    assert list(faults(copy)) == ["preact.js was changed after it was vendored"]


def test_a_file_too_many_or_too_few_is_noticed(copy: Path) -> None:
    (copy / "more.js").write_text("1")
    (copy / "htm.js").unlink()
    (copy / "licences" / "preact.txt").unlink()
    messages = list(faults(copy))
    assert "more.js is not in the manifest" in messages
    assert "htm.js is missing" in messages
    assert "the licence of preact is missing" in messages


def test_a_lock_that_pins_something_else_is_noticed(copy: Path) -> None:
    def change(lock: dict[str, Any]) -> None:
        lock["packages"]["node_modules/htm"]["version"] = "3.1.2"
        del lock["packages"]["node_modules/preact"]["integrity"]
        lock["packages"]["node_modules/@preact/signals"]["resolved"] = "somewhere"

    change_it(copy / "package-lock.json", change)
    assert set(faults(copy)) == {
        "package.json names htm 3.1.1, the lock 3.1.2",
        "the lock has no digest of preact",
        "the lock names where node_modules/@preact/signals was downloaded",
    }


def test_a_manifest_of_another_version_is_noticed(copy: Path) -> None:
    change_it(copy / "manifest.json", lambda manifest: manifest["preact.js"].update(version="10.0.0"))
    assert list(faults(copy)) == ["preact.js is of preact 10.0.0, not 11.2.0"]


def test_every_package_has_a_licence_that_may_be_handed_on() -> None:
    manifest = json.loads((FOLDER / "manifest.json").read_text())
    assert {entry["licence"] for entry in manifest.values()} <= {"MIT", "Apache-2.0"}


def test_bare_imports_become_relative() -> None:
    text = 'import{h}from"preact";export{s}from "@preact/signals-core";import \'preact/hooks\';import x from"./y.js"'
    assert relative(text) == (
        'import{h}from"./preact.js";export{s}from "./signals-core.js";import "./hooks.js";import x from"./y.js"'
    )


def test_an_import_of_something_else_is_refused() -> None:
    with pytest.raises(Refused, match="'left-pad', which is not vendored"):
        relative('import pad from "left-pad"')


@pytest.mark.parametrize("text", ["eval('1')", "x=new Function('a')", 'Function("return this")()', "new  Function(a)"])
def test_what_makes_code_of_text_is_known(text: str) -> None:
    assert MAKES_CODE.search(text)


@pytest.mark.parametrize("text", ["retrieval(1)", "typeof x=='function'", "isFunction(x)", "medieval (x)"])
def test_other_words_are_left_alone(text: str) -> None:
    assert not MAKES_CODE.search(text)


def test_copies_are_fitted_to_pages_without_a_build() -> None:
    assert put_in_layer('@charset "UTF-8";a{b:c}') == "@layer pico {a{b:c}}\n"
    assert digest(b"") == "sha384-OLBgp1GsljhM2TJ+sbHjaiH9txEUvgdDTAzHv2P24donTt6/529l+9Ua0vFImLlb"
