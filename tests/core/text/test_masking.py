"""Masking: no secret and no control character gets through."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.text.masking import MASK, Masker, Plain, printable


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode().rstrip("=")


SECRET = "kQ7/zz+very&secret_0123456789"


@pytest.mark.parametrize("form", [SECRET, quote(SECRET, safe=""), json.dumps(SECRET), b64(SECRET), f"x{SECRET}y"])
def test_a_known_secret_is_masked_in_the_forms_that_texts_take(form: str) -> None:
    masked = Masker([SECRET])(f"before {form} after")
    assert form.strip('"') not in masked
    assert SECRET[5:15] not in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")


@given(st.integers(8, len(SECRET)), st.booleans(), st.text(max_size=5))
def test_a_secret_that_was_cut_is_masked_at_the_edge(length: int, at_the_end: bool, rest: str) -> None:
    text = f"{rest} {SECRET[:length]}" if at_the_end else f"{SECRET[-length:]} {rest}"
    assert Masker([SECRET])(text) == (f"{rest} {MASK}" if at_the_end else f"{MASK} {rest}")


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-abcdefghij0123456789", "rk_live_abcdefghij0123456789", "glpat-abcdefghij0123456789",
        "sk-proj-abcdefghij0123456789", "ghp_abcdefghijklmnopqrst0123", "AKIAABCDEFGHIJKLMNOP",
        "ASIAABCDEFGHIJKLMNOP", "xoxb-1234567890-abc", "hf_" + "a" * 34, "npm_" + "b" * 36, "pypi-" + "c" * 60,
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4fw", "github_pat_" + "d" * 30,
    ],
)  # fmt: skip
def test_texts_in_the_shape_of_a_key_are_masked(key: str) -> None:
    assert Masker()(f"token={key};") == f"token={MASK};"


def test_a_password_in_an_address_is_masked_and_the_address_stays() -> None:
    assert Masker()("git push https://me:pass-word@example.org/x") == f"git push https://{MASK}@example.org/x"
    text = "see https://example.org:8080/a@b and mail@example.org"
    assert Masker()(text) == text


def test_a_private_key_that_was_cut_is_masked_to_the_end() -> None:
    assert Masker()("x -----BEGIN PRIVATE KEY-----\nabc") == f"x {MASK}"


def test_short_secrets_do_not_mask_half_the_text() -> None:
    assert Masker(["a", ""])("banana") == "banana"


def test_escape_sequences_become_visible() -> None:
    assert printable(b"\x1b[31mred\x07") == "\\x1b[31mred\\x07"


def test_a_secret_that_is_learnt_later_is_masked_and_the_first_stays_masked() -> None:
    mask = Masker(["first-secret-9"])
    mask.learn(["second-secret-9"])
    assert mask("first-secret-9 and second-secret-9") == "*** and ***"


def test_a_cleaned_text_is_masked_before_it_is_cut_and_shows_control_characters() -> None:
    mask = Masker(["hunter2-secret"])
    assert mask.clean("a\x1b[31m hunter2-secret", 99) == f"a\\x1b[31m {MASK}"
    cut = mask.clean("x" * 20 + "hunter2-secret" + "y" * 20, 40)
    assert (len(cut), "hunter2" in cut, cut.endswith(" … (cut)")) == (40, False, True)


def test_all_texts_of_plain_data_are_masked_and_nothing_else_changes() -> None:
    mask = Masker(["hunter2-secret", "12345678"])
    data: Plain = {"k hunter2-secret": ["hunter2-secret\x07", 12345678, None, True, 1.5, {"n": "fine"}]}
    assert mask.mask_data(data) == {f"k {MASK}": [f"{MASK}\x07", 12345678, None, True, 1.5, {"n": "fine"}]}
    assert mask.show_data(data) == {f"k {MASK}": [f"{MASK}\\x07", 12345678, None, True, 1.5, {"n": "fine"}]}
