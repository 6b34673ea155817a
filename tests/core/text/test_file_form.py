"""The text of a file that a model sees can always be converted back to the original bytes."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from nightshift.core.text.encoding import decode, encode
from nightshift.core.text.file_form import readable, write_like


@given(st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
@example(b"\xef\xbb\xbf\xef\xbb\xbfa")
@example(b"\xff\xfea")
@example(b"# coding: rot13\n\xfc")
@example(b"# coding: idna\n\xfc")
@example(b"# coding: utf-16\na")
@example(b"# coding: utf-7\n+AGE-")
@example(b"a\r\r\n")
@example(b"\r\n")
@example(b"\n\n")
def test_what_is_shown_can_be_written_back_as_it_was(raw: bytes) -> None:
    text = decode(raw)
    if (shown := readable(text)) is not None:
        assert encode(write_like(shown, text)) == raw
