"""Masking: no secret and no control character passes."""

from hypothesis import given
from hypothesis import strategies as st

from core.masking import MASK, Masker, printable


def test_a_known_secret_is_masked_wherever_it_stands() -> None:
    mask = Masker(["hunter2-secret", "hunter2"])
    assert mask("a hunter2-secret b hunter2 c") == f"a {MASK} b {MASK} c"


def test_texts_in_the_shape_of_a_key_are_masked() -> None:
    for key in ("sk-proj-abcdefghij0123456789", "ghp_abcdefghijklmnopqrst0123", "AKIAABCDEFGHIJKLMNOP"):
        assert key not in Masker()(f"token={key};")


def test_a_private_key_block_is_masked_whole() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    assert Masker()(f"x {block} y") == f"x {MASK} y"


def test_short_secrets_do_not_mask_half_the_text() -> None:
    assert Masker(["a", ""])("banana") == "banana"


def test_escape_sequences_become_visible() -> None:
    assert printable(b"\x1b[31mred\x07") == "\\x1b[31mred\\x07"


def test_bidirectional_controls_become_visible() -> None:
    assert printable("a\u202eb") == "a\\u{202e}b"


def test_long_lines_and_texts_say_that_they_were_cut() -> None:
    assert printable("x" * 5000).endswith("(line cut)")
    assert printable("x\n" * 50, max_chars=10).endswith("(cut)")


@given(st.binary(max_size=300))
def test_whatever_comes_in_what_goes_out_is_printable(raw: bytes) -> None:
    assert all(c.isprintable() or c in "\t\n" for c in printable(raw) if c not in " \u00a0\u3000" and not c.isspace())
