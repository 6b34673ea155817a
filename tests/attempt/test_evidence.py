"""The seal of an evidence note is computed with a key that stays in the home."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from nightshift.attempt import evidence
from nightshift.attempt.evidence import Sealed

KEY, OTHER = b"k" * 32, b"o" * 32
DATA = {"task": 7, "evidence": {"label": "verified", "ids": ["a", "ü\ud800"]}}


def seal(key: bytes) -> str:
    return json.dumps(DATA | evidence.seal_of(DATA, key), indent=1)


def test_a_seal_tells_its_own_home_another_home_and_none_apart() -> None:
    assert evidence.check_seal(seal(KEY), KEY) is Sealed.OURS
    assert evidence.check_seal(seal(OTHER), KEY) is Sealed.ANOTHER
    assert evidence.check_seal(seal(KEY), b"") is Sealed.ANOTHER
    assert evidence.check_seal(json.dumps(DATA), KEY) is Sealed.NONE


def test_layout_does_not_matter_and_every_byte_of_meaning_does() -> None:
    text = json.loads(seal(KEY))
    assert evidence.check_seal(json.dumps(dict(reversed(text.items()))), KEY) is Sealed.OURS
    assert evidence.check_seal(json.dumps(text | {"task": 8}), KEY) is Sealed.BROKEN
    assert evidence.check_seal(json.dumps(text | {"more": 1}), KEY) is Sealed.BROKEN
    assert evidence.check_seal(json.dumps(text | {"seal": text["seal"][:-1]}), KEY) is Sealed.BROKEN


@pytest.mark.parametrize("text", ["[]", "no", "[" * 9999])
def test_what_is_no_mapping_bears_no_sound_seal(text: str) -> None:
    assert evidence.check_seal(text, KEY) is Sealed.BROKEN


def test_the_key_is_made_once_and_only_the_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "state" / "seal"
    assert evidence.read_key(file) == b""
    key = evidence.read_or_make_key(file)
    assert len(key) == 32
    assert evidence.read_or_make_key(file) == evidence.read_key(file) == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["seal"]
    file.write_text("not hexadecimal")
    assert evidence.read_key(file) == b""
