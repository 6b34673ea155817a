"""Replies are parsed into files in every style that models are known to use, or refused with a reason."""

from __future__ import annotations

import json
import string
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nightshift.agent.replies import Edit, Parsed, names, parse
from nightshift.core.built_in import BUILT_IN
from nightshift.core.code.paths import path_fault
from nightshift.core.dialogue import Completion, Finish
from nightshift.core.errors import BadReply
from nightshift.core.tools import ToolCall

CODE = 'def add(a, b):\n    """Add."""\n    return a + b\n'
NESTED_DOC = (
    '"""Use it.\n\n```python\nadd(1, 2)\n```\n\nor\n\n```\nadd 1 2\n```\n"""\n\n\ndef add(a, b):\n    return a + b\n'
)


def read(text: str, *expected: str, finish: Finish = Finish.STOP, calls: tuple[ToolCall, ...] = ()) -> Parsed:
    return parse(Completion(text=text, backend="b", model="m", finish=finish, tool_calls=calls), expected=expected)


def read_or_none(
    text: str, *expected: str, finish: Finish = Finish.STOP, calls: tuple[ToolCall, ...] = ()
) -> Parsed | None:
    """Return the parsed reply, or None if the parser refuses it with a sentence."""
    try:
        return read(text, *expected, finish=finish, calls=calls)
    except BadReply as bad:
        if not str(bad):
            raise
        return None


# Reply styles. Each is a function that writes files in that style; the round-trip test below uses them.


def ticks(text: str, mark: str = "`") -> str:
    longest = max(len(line.strip()) - len(line.strip().lstrip(mark)) for line in text.split("\n"))
    return mark * max(3, longest + 1)


def info(path: str, text: str) -> str:
    fence = ticks(text)
    return f"{fence}text path={path}\n{text}{fence}\n"


def tilde(path: str, text: str) -> str:
    fence = ticks(text, "~")
    return f"{fence}text path={path}\n{text}{fence}\n"


def above(label: str):  # type: ignore[no-untyped-def]
    def write(path: str, text: str) -> str:
        fence = ticks(text)
        return f"{label.format(path)}\n\n{fence}\n{text}{fence}\n"

    return write


def as_json(path: str, text: str) -> str:
    return json.dumps({"files": [{"path": path, "content": text}]})


def json_fence(path: str, text: str) -> str:
    return f"Here you are:\n\n```json\n{json.dumps({'files': {path: text}})}\n```\n"


def write_call(path: str, text: str) -> str:
    return json.dumps({"name": "write_file", "arguments": {"path": path, "content": text}})


STYLES = [
    info, tilde, as_json, json_fence, write_call,
    above("{}"), above("### `{}`"), above("1. `{}`"),
    above("Here is the whole of `{}`:"),
]  # fmt: skip
NAME = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=8)
PATHS = st.builds(lambda parts, name, end: "/".join([*parts, f"{name}.{end}"]), st.lists(NAME, max_size=3), NAME,
                  st.sampled_from(["py", "js", "txt", "toml", "html"]))  # fmt: skip
LINES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30),
    st.sampled_from(
        ["```", "````", "~~~", "```python", "  ```", "", "    x", "<<<<<<< HEAD", "=======", "{", '{"a": 1}']
    ),
)
TEXTS = st.lists(LINES, max_size=12).map(lambda lines: "".join(line + "\n" for line in lines))


@settings(deadline=None)
@given(st.sampled_from(STYLES), PATHS, TEXTS)
@example(info, "a.py", NESTED_DOC)
@example(tilde, "a.txt", "\ufeff\r\n\x0b\x0c\u2028 \n")
def test_every_style_brings_a_file_back_byte_for_byte(style, path: str, text: str) -> None:  # type: ignore[no-untyped-def]
    parsed = read("Sure!\n\n" + style(path, text) if style not in (as_json, write_call) else style(path, text))
    assert parsed.files == {path: text}
    assert parsed.complaints == ()


@settings(deadline=None)
@given(st.dictionaries(PATHS, TEXTS, min_size=2, max_size=4), st.sampled_from([info, tilde]))
def test_several_files_come_back_in_one_reply(files: dict[str, str], style) -> None:  # type: ignore[no-untyped-def]
    reply = "\nAnd then:\n\n".join(style(path, text) for path, text in files.items())
    assert read(reply).files == files
    wrapped = "``````````````markdown\nThe files:\n\n" + reply + "``````````````\n"
    assert read(wrapped).files == files


PIECES = st.lists(
    st.one_of(
        st.sampled_from([
            "```", "```python path=a.py", "````", "~~~", "```markdown", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE",
            "File: b.py", "`c.py`:", "# d.py", '{"files": [', "{}", "]}", "--- a/x.py", "+++ b/x.py", "@@ -1 +1 @@",
            "-a", "+b", "<think>", "</think>", "path=../../x", "```diff", "def f():",
            "    return 1", "\ud800", "\x00", "",
            '{"name": "write_file", "arguments": {"path": "e.py", "content": "\\ud800"}}',
        ]),
        st.text(max_size=20),
    ),
    max_size=25,
)  # fmt: skip


@settings(deadline=None)
@given(PIECES, st.sampled_from(Finish), st.lists(st.sampled_from(["a.py", "b.js"]), max_size=2))
def test_nothing_but_a_bad_reply_is_ever_raised(pieces: list[str], finish: Finish, expected: list[str]) -> None:
    parsed = read_or_none("\n".join(pieces), *expected, finish=finish)
    if parsed is None:
        return
    named = [*parsed.files, *parsed.deletions, *(edit.path for edit in parsed.edits)]
    assert named
    assert not any(path_fault(path) for path in named)
    for text in parsed.files.values():
        text.encode()


# Replies of a particular form, case by case.


@pytest.mark.parametrize(
    "fence",
    [
        "python path=pkg/mod.py", "python filename='pkg/mod.py'", "python:pkg/mod.py", "python {path=pkg/mod.py}",
        "python path=📄pkg/mod.py", "python path=[pkg/mod.py](pkg/mod.py)", "path=pkg/mod.py。", "path='pkg/mod.py ✅'",
    ],
)  # fmt: skip
def test_the_info_string_names_the_file(fence: str) -> None:
    assert read(f"```{fence}\n{CODE}```").files == {"pkg/mod.py": CODE}
    assert [names.tidy(path) for path in ("🚀.md", "n/cafe\u0301")] == ["🚀.md", "n/cafe\u0301"]


SECOND = "import unittest\n\nfrom pkg.mod import x\n"


@pytest.mark.parametrize(
    ("fence", "comments"),
    [
        ("File: pkg/mod.js\n\n```js", ("// pkg/mod.js", "// test/mod.test.js")),
        ("```", ("# File: pkg/mod.py", "# File: tests/test_mod.py")),
    ],
)
def test_a_block_of_several_files_is_split_at_the_comments_with_their_paths(
    fence: str, comments: tuple[str, str]
) -> None:
    first, second = (f"{comment}\n{text}" for comment, text in zip(comments, (CODE, SECOND), strict=True))
    paths = [comment.split()[-1] for comment in comments]
    assert read(f"{fence}\n{first}\n\n{second}```").files == dict(zip(paths, (first, second), strict=True))


@pytest.mark.parametrize("comment", ["# tests/test_mod.py", "    # tests/test_mod.py", "# see tests/test_mod.py"])
def test_a_comment_with_a_path_splits_no_file_that_does_not_begin_with_one(comment: str) -> None:
    begin = "# pkg/mod.py\n" if comment.startswith((" ", "# see")) else ""
    text = f"{begin}{CODE}\n{comment}\nx = 1\n"
    assert read(f"```python path=pkg/mod.py\n{text}```").files == {"pkg/mod.py": text}


def test_a_single_unnamed_block_is_the_one_expected_file() -> None:
    reply = f"Sure!\n```python\n{CODE}```\nRun it:\n```bash\npytest\n```\n"
    assert read(reply, "add.py").files == {"add.py": CODE}
    with pytest.raises(BadReply, match="no path"):
        read(reply, "add.py", "sub.py")
    with pytest.raises(BadReply, match="2 blocks"):
        read(f"```python\n{CODE}```\n```python\nadd(1, 2)\n```", "add.py")


def test_fences_in_a_docstring_do_not_cut_the_file_in_two() -> None:
    reply = f"```python path=add.py\n{NESTED_DOC}```\nDone. To test:\n```bash\npytest\n```\n"
    assert read(reply).files == {"add.py": NESTED_DOC}


def test_a_markdown_file_whose_end_cannot_be_told_is_refused() -> None:
    with pytest.raises(BadReply, match="longer than any inside"):
        read("```markdown path=README.md\n# T\n```\nx\n```\nmore\n```\n")
    assert read("````markdown path=README.md\n# T\n```\nx\n```\nmore\n````\n").files


def test_a_file_with_a_syntax_error_does_not_swallow_the_next() -> None:
    broken = 'def f(:\n    """open\n'
    reply = f"```python path=a.py\n{broken}```\n\n```python path=b.py\n{CODE}```\n"
    assert read(reply).files == {"a.py": broken, "b.py": CODE}


def test_an_unclosed_last_fence_counts_only_when_it_is_whole_and_was_not_cut() -> None:
    assert read(f"```python path=a.py\n{CODE}").files == {"a.py": CODE}
    assert read("```javascript path=a.mjs\nexport const f = () => { return `a ${1}` }\n").files
    with pytest.raises(BadReply, match="not closed"):
        read("```python path=a.py\ndef f(\n")
    for text in ("f = () => { return 1", "f = `open", "f = 1 /* open", "f = (1]"):
        with pytest.raises(BadReply, match="not closed"):
            read(f"```javascript path=a.mjs\nexport const {text}\n")
    for text in ("f = '(' + \"[\" // (", "f = /* ( */ 1", "f = `(\n${x}`", "f = 'it\\'s ('"):
        assert read(f"```javascript path=a.mjs\nexport const {text}\n").files
    with pytest.raises(BadReply, match="shorter"):
        read(f"```python path=a.py\n{CODE}", finish=Finish.LENGTH)


def test_a_cut_reply_keeps_what_was_complete_and_says_so() -> None:
    parsed = read(f"```python path=a.py\n{CODE}```\n```python path=b.py\ndef f(", finish=Finish.LENGTH)
    assert parsed.files == {"a.py": CODE}
    assert parsed.cut
    assert "cut off" in parsed.complaints[0]


def test_two_texts_for_one_path_are_refused_and_two_equal_ones_are_one() -> None:
    code_block = f"```python path=a.py\n{CODE}```\n"
    assert read(code_block + code_block).files == {"a.py": CODE}
    parsed = read(code_block + "```python path=a.py\nx = 1\n```\n```python path=b.py\nx = 1\n```\n")
    assert list(parsed.files) == ["b.py"]
    assert "two different texts" in parsed.complaints[0]


@pytest.mark.parametrize("path", ["../x.py", "/etc/passwd", ".git/hooks/pre-commit", "C:\\x.py"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(BadReply, match=r"path|file"):
        read(f"```python path={path}\nx = 1\n```")


def test_files_are_removed_by_an_empty_block_that_says_so() -> None:
    assert read("```text path=old.py delete\n```\n").deletions == ("old.py",)
    assert read('```text path="old.py" action=delete\n```\n').deletions == ("old.py",)
    assert read('{"files": [], "delete": ["old.py"]}').deletions == ("old.py",)
    assert read("```python path=delete.py\nx = 1\n```").files


def test_search_and_replace_in_every_place_where_models_put_it() -> None:
    body = "<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n"
    edit = (Edit(path="m.py", search="a = 1\n", replace="a = 2\n"),)
    assert read(f"```python path=m.py\n{body}```\n").edits == edit
    assert read(f"m.py\n```python\n{body}```\n").edits == edit
    assert read(f"```python\nm.py\n{body}```\n").edits == edit
    assert read(f"m.py\n{body}").edits == edit
    assert read(f"```\n{body}```\n", "m.py").edits == edit
    assert read(f"```python path=m.py\n{body}{body}```\n").edits == edit * 2
    assert read(f"m.py\n{body}\nand\n\n{body}").edits == edit * 2
    with pytest.raises(BadReply, match="names no file"):
        read(body)


@pytest.mark.parametrize("path", ["a.py", "a.html", "a.md"])
@pytest.mark.parametrize("head", ["*** Begin Patch\n*** Update File: {}\n@@\n", "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n"])
def test_a_patch_in_a_fence_is_one_but_not_in_another_document(path: str, head: str) -> None:
    patch = head.format(path) + "-a = 1\n+a = 2\n"
    for info in ("", f"text path={path}"):
        assert read(f"```{info}\n{patch}```\n").edits == (Edit(path=path, search="a = 1\n", replace="a = 2\n"),)
    for text in (patch, f"<pre>\n{patch}</pre>\n"):
        assert read(f"```text path=doc.html\n{text}```\n").files == {"doc.html": text}


def test_a_unified_diff_becomes_edits_new_files_and_deletions() -> None:
    diff = (
        "```diff\n--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@\n x = 0\n-a = 1\n+a = 2\n y = 0\n"
        "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+n = 1\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-o\n```\n"
    )
    parsed = read(diff)
    assert parsed.edits == (Edit(path="m.py", search="x = 0\na = 1\ny = 0\n", replace="x = 0\na = 2\ny = 0\n"),)
    assert parsed.files == {"new.py": "n = 1\n"}
    assert parsed.deletions == ("old.py",)


def test_tool_calls_edit_and_delete_and_unknown_ones_are_refused() -> None:
    edit = ToolCall(name="str_replace_editor", arguments={"path": "m.py", "old_str": "a\n", "new_str": "b\n"})
    delete = ToolCall(name="delete_file", arguments={"path": "o.py"})
    parsed = read("", calls=(edit, delete, ToolCall(name="run_shell", arguments={"cmd": "rm -rf /"})))
    assert parsed.edits == (Edit(path="m.py", search="a\n", replace="b\n"),)
    assert parsed.deletions == ("o.py",)
    assert "run_shell" in parsed.complaints[0]
    with pytest.raises(BadReply, match="is no file"):
        read("", calls=(ToolCall(name="write_file", arguments={"content": 3}),))


def test_bytes_of_another_encoding_are_taken_of_the_engine_alone_which_read_the_file() -> None:
    text = "# coding: latin-1\nNAME = 'caf\udce9'\n"
    reply = Completion(text=f"```python path=a.py\n{text}```", backend=BUILT_IN, model=BUILT_IN)
    assert parse(reply).files == {"a.py": text}
    with pytest.raises(BadReply, match="surrogate"):
        parse(replace(reply, backend="openai"))
    with pytest.raises(BadReply, match="surrogate"):
        parse(replace(reply, text=reply.text.replace("\udce9", "\ud800")))


@pytest.mark.parametrize("char", ["\u202e", "\u2066"])
def test_code_that_reads_otherwise_than_it_runs_is_sent_back(char: str) -> None:
    block = f"```python path=a.py\nif user == 'admin':  # {char} x\n    pass\n```"
    with pytest.raises(BadReply, match=r"a\.py: holds invisible characters"):
        parse(Completion(text=block, backend="b", model="m"))
    edit = f"```python path=a.py\n<<<<<<< SEARCH\nx = '{char}'\n=======\nx = 1\n>>>>>>> REPLACE\n```"
    assert parse(Completion(text=edit, backend="b", model="m")).edits, "what is there already can be taken out"
