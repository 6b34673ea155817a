from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nightshift.core.code.parsing import parse
from nightshift.core.text.encoding import decode, encode, is_encodable

LATIN = b"# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n"


@given(st.binary())
@example(b"\xed\xa0\x80")  # Half of a surrogate pair, as written by surrogatepass
@example(b"\xef\xbb\xbf\xff")
@example(bytes(range(256)))
def test_every_sequence_of_bytes_comes_back_from_its_text(raw: bytes) -> None:
    assert encode(decode(raw)) == raw
    assert is_encodable(decode(raw))


def test_a_text_that_no_file_can_hold_is_told_of_and_still_has_bytes() -> None:
    assert not is_encodable("a\ud800")
    assert encode("a\ud800\udce9") == b"a\xed\xa0\x80\xe9"


def test_source_in_another_encoding_is_parsed_as_python_parses_the_file() -> None:
    space: dict[str, object] = {}
    exec(compile(parse(decode(LATIN)), "names.py", "exec"), space)
    assert space["NAME"] == "caf\xe9"
    with pytest.raises(SyntaxError):
        parse(decode(b"NAME = 'caf\xe9'\n"))
