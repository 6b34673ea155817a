"""A file keeps its encoding, byte order mark, line ends, last newline and name, however a model changes it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nightshift.agent.draft import Draft
from nightshift.agent.file_form import readable, write_like
from nightshift.agent.replies import parse
from nightshift.agent.tools import arguments, writing
from nightshift.core.dialogue import Completion
from nightshift.core.errors import BadReply
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.encoding import decode, encode
from tests.support.trees import TextTree

OLD, NEW = "def total(prices):\n    return 0\n", "def total(prices):\n    return sum(prices)\n"
PATH = "größe.py"
NFD = unicodedata.normalize("NFD", PATH)


def _reply(draft: Draft, text: str) -> None:
    taken = draft.take(parse(Completion(text=text, backend="", model="")))
    assert not taken.faults
    assert not taken.refused


def send_whole(draft: Draft, head: str) -> None:
    _reply(draft, f"Summary: x\n\n```python path={PATH}\n{head}{NEW}```\n")


def send_edit(draft: Draft, _head: str) -> None:
    edit = "<<<<<<< SEARCH\n    return 0\n=======\n    return sum(prices)\n>>>>>>> REPLACE\n"
    _reply(draft, f"Summary: x\n\n```edit path={PATH}\n{edit}```\n")


def send_diff(draft: Draft, _head: str) -> None:
    lines = (
        f"--- a/{PATH}\n+++ b/{PATH}\n@@ -1,2 +1,2 @@\n def total(prices):\n-    return 0\n+    return sum(prices)\n"
    )
    _reply(draft, f"Summary: x\n\n```diff\n{lines}```\n")


def send_patch(draft: Draft, _head: str) -> None:
    lines = "@@\n def total(prices):\n-    return 0\n+    return sum(prices)\n"
    _reply(draft, f"*** Begin Patch\n*** Update File: {PATH}\n{lines}*** End Patch\n")


def call_edit(draft: Draft, _head: str) -> None:
    writing.edit(draft, arguments.Edit(path=PATH, old="return 0", new="return sum(prices)"))


def call_write_file(draft: Draft, head: str) -> None:
    writing.write_file(draft, arguments.WriteFile(path=PATH, content=head + NEW))


WAYS = [send_whole, send_edit, send_diff, send_patch, call_edit, call_write_file]
FORMS: dict[str, tuple[str, str, Callable[[str], bytes]]] = {
    # name of the file, lines above the function, and how its text is encoded
    "plain": (PATH, "", str.encode),
    "a name in NFD": (NFD, "", str.encode),
    "CRLF": (PATH, "", lambda text: text.replace("\n", "\r\n").encode()),
    "a mark": (PATH, "", lambda text: text.encode("utf-8-sig")),
    "a mark and CRLF": (PATH, "", lambda text: text.replace("\n", "\r\n").encode("utf-8-sig")),
    "UTF-16": (PATH, "# €\n", lambda text: b"\xff\xfe" + text.encode("utf-16-le")),
    "CRLF, none at the end": (PATH, "", lambda text: text.removesuffix("\n").replace("\n", "\r\n").encode()),
    "declared cp1252": (PATH, "# -*- coding: cp1252 -*-\n# €, Größe\n", lambda text: text.encode("cp1252")),
    "declared and ASCII": (PATH, "# coding: latin-1\n", str.encode),
    "Latin-1, undeclared": (PATH, "# Größe\n", lambda text: text.encode("latin-1")),

}  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_a_file_keeps_its_form_in_whichever_way_it_is_changed(way: Callable[[Draft, str], None], form: str) -> None:
    name, head, written = FORMS[form]
    draft = Draft(TextTree({name: decode(written(head + OLD))}), {}, TaskSpec(description="Return the sum"))
    assert draft.view.text(PATH) in {head + OLD, (head + OLD).removesuffix("\n")}, "what the model is shown"
    way(draft, head)
    assert {path: encode(text or "") for path, text in draft.change.items()} == {name: written(head + NEW)}


@pytest.mark.parametrize(
    ("held", "text", "sign"),
    [
        (b"# coding: cp1252\nx = 1\n", "# coding: cp1252\nx = '→'\n", "'→' (U+2192)"),
        (b"x = '\xfc'\n", "x = 'ü→'\n", "cp1252"),
        (b"", "# coding: ascii\nx = 'ü'\n", "'ü' (U+00FC)"),
    ],
)
def test_a_sign_that_the_files_encoding_cannot_hold_is_named(held: bytes, text: str, sign: str) -> None:
    draft = Draft(TextTree({"a.py": decode(held)} if held else {}), {}, TaskSpec(description="Do it"))
    with pytest.raises(BadReply) as refused:
        draft.put("a.py", text)
    assert sign in str(refused.value)
    assert draft.change == {}


@pytest.mark.parametrize(
    ("held", "text", "bytes_"),
    [
        (b"x = 1\n", "x = 1", b"x = 1"),
        (b"# coding: latin-1\nx = '\xfc'\n", "# coding: utf-8\nx = 'ü'\n", "# coding: utf-8\nx = 'ü'\n".encode()),
        (b"a\r\nb\n", "a\r\nc\n", b"a\r\nc\n"),
        (b"a\nb\n", "a\r\nc\r\n", b"a\nc\n"),
        (b"", "a\r\nb\r\n", b"a\r\nb\r\n"),
    ],
)
def test_a_form_changes_where_that_is_what_was_meant(held: bytes, text: str, bytes_: bytes) -> None:
    draft = Draft(TextTree({"a.py": decode(held)}), {}, TaskSpec(description="Do it"))
    draft.put("a.py", text)
    assert encode(draft.change["a.py"] or "") == bytes_


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
