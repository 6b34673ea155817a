"""A reply with a placeholder for code, or that loses much of a file, is sent back; words about “the rest” are not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from nightshift.agent.draft import Draft
from nightshift.agent.replies import parse
from nightshift.agent.replies.left_out import find_lost_definitions, lazy_line
from nightshift.core.dialogue import Completion, Finish
from nightshift.core.errors import BadReply
from nightshift.core.tasks.task import TaskSpec
from tests.support.trees import TextTree

FILE = "def a():\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c():\n    return 3\n"
HEAD = "def a():\n    return 10\n"
SPEC = TaskSpec(description="Let a return 10.")


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest of the code unchanged ...", "// ... existing code ...", "... remaining functions unchanged ...",
        "# 其余代码保持不变", "/* ... */", "# ...", "# b and c are as they were",
    ],
)  # fmt: skip
def test_a_line_that_stands_for_what_the_file_had_is_found(line: str) -> None:
    sentence = lazy_line(FILE, f"{HEAD}\n\n{line}\n")
    assert sentence.startswith("line 5")
    assert line[:20].split("'", maxsplit=1)[0] in sentence


@pytest.mark.parametrize("body", ["...", "...  # body", "pass  # body"])
def test_a_body_that_became_dots_is_left_out(body: str) -> None:
    assert "def b" in lazy_line(FILE, f"{HEAD}\n\ndef b():\n    {body}\n\n\ndef c(): {body}\n")


@pytest.mark.parametrize(
    "text",
    [
        FILE.replace("return 1", "return 10"),
        "# the rest of the tokens is read lazily\n" + FILE,
        FILE.replace("def b", "# existing behaviour stays the same\ndef b"),
        HEAD + "\n\n# def b():\n#     return 2\n\n\ndef c():\n    return 3\n",
        HEAD + "\n\ndef b():\n    pass\n\n\ndef c():\n    pass\n",
        f"class P(Protocol):\n    def b(self) -> int: ...\n\n\n{FILE.replace('1', '4').replace('3', '5')}",
    ],
)
def test_a_text_with_all_that_the_file_had_may_speak_of_a_rest(text: str) -> None:
    assert lazy_line(FILE, text) == ""
    bare = f"def b(): ...\n\n\ndef c():\n    pass\n\n\n{HEAD}x = 1\n"
    assert lazy_line(bare, bare.replace("x = 1", "").replace("10", "20").replace("    pass", "    ...")) == ""


def test_a_whole_file_that_drops_much_is_asked_about_once() -> None:
    assert find_lost_definitions(FILE, HEAD) == ("b", "c")
    draft = Draft(TextTree({"m.py": FILE}), {}, SPEC)
    with pytest.raises(BadReply, match="b, c would be gone"):
        draft.put("m.py", HEAD)
    draft.put("m.py", HEAD)
    assert draft.change == {"m.py": HEAD}


def test_what_the_task_names_may_go() -> None:
    asks = TaskSpec(description="Drop b and c, as nobody calls them; let a return 10 and log each call of it.")
    draft = Draft(TextTree({"m.py": FILE}), {}, asks)
    draft.put("m.py", HEAD)
    assert draft.taken == ["m.py"]


@pytest.mark.parametrize(
    "form", ["```python path=m.py\n{}```", "```python path=m.py\n<<<<<<< SEARCH\n{f}=======\n{}>>>>>>> REPLACE\n```"]
)
def test_neither_a_block_nor_an_edit_with_a_lazy_line_is_taken(form: str) -> None:
    draft = Draft(TextTree({"m.py": FILE}), {}, SPEC)
    text = form.format(f"{HEAD}\n# ... rest unchanged\n", f=FILE)
    taken = draft.take(parse(Completion(text=text, backend="b", model="m")))
    assert (taken.paths, draft.change) == ((), {})
    assert "rest unchanged" in taken.faults[0]


LABELS = ["File src/a.py", "文件 src/a.py"]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "form",
    [
        "{}\n```python\nx = 1\n```\n", "```python path={}\nx = 1\n```\n", "```python {}\nx = 1\n```\n",
        '{{"path": "{}", "content": "x = 1\\n"}}', "*** Begin Patch\n*** Add File: {}\n+x = 1\n*** End Patch\n",
        "```diff\n--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+x = 1\n```\n",
    ],
)  # fmt: skip
def test_a_label_without_a_colon_is_no_part_of_a_name_either(form: str, label: str) -> None:
    draft = Draft(TextTree({"m.py": FILE}), {}, SPEC)
    taken = draft.take(parse(Completion(text=form.format(label), backend="b", model="m")))
    assert (taken.faults, draft.change) == ((), {"src/a.py": "x = 1\n"})


UPDATE = "*** Begin Patch\n*** Update File: m.py\n@@\n def a():\n-    return 1\n+    return 10\n*** End Patch\n"
ADD = "*** Begin Patch\n*** Add File: new/n.py\n+x = 1\n+y = 2\n*** Delete File: old.py\n*** End Patch"


@pytest.mark.parametrize(
    "form",
    [
        "{}", "```bash\napply_patch <<'EOF'\n{}EOF\n```", "```\napply_patch '{}'\n```\n",
        "<function=apply_patch><parameter=input>{}</parameter></function>",
    ],
)  # fmt: skip
def test_a_patch_in_codexs_form_is_read_with_or_without_a_fence(form: str) -> None:
    draft = Draft(TextTree({"m.py": FILE, "old.py": "x\n"}), {}, SPEC)
    taken = draft.take(parse(Completion(text=form.format(UPDATE), backend="b", model="m")))
    assert (taken.paths, taken.faults) == (("m.py",), ())
    assert draft.change == {"m.py": FILE.replace("return 1\n", "return 10\n", 1)}
    taken = draft.take(parse(Completion(text=form.format(ADD), backend="b", model="m")))
    assert (draft.change["new/n.py"], draft.change["old.py"]) == ("x = 1\ny = 2\n", None)


TWICE = "def f():\n    return 1\n\n\ndef g():\n    return 1\n\n\nclass A:\n    def f(self):\n        return 1\n"
CHANGES = {
    # Maps a patch, without the line that names its file, to the old and the new text of the edit that the patch
    # describes.
    "@@ def g():\n-    return 1\n+    return 2\n": ("def g():\n    return 1", "def g():\n    return 2"),
    "@@\n-        return 1\n+        return 2\n*** End of File\n": ("        return 1", "        return 2"),
    "@@\n+x = 1\n*** End of File\n": ("        return 1\n", "        return 1\nx = 1\n"),
    "+x = 1\n\n": ("        return 1\n", "        return 1\nx = 1\n"),
}
FORMS = [
    lambda patch: patch,
    lambda patch: json.dumps({"command": ["apply_patch", patch]}),
    lambda patch: json.dumps({"cmd": ["bash", "-lc", f"cd /r && apply_patch <<EOF\n{patch}EOF"]}, indent=1),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("target", ["", "n/é.py"])
def test_a_patch_changes_the_place_that_its_marks_tell_once_and_moves_its_file(
    form: Callable[[str], str], change: str, target: str
) -> None:
    move = f"*** Move to: {target}\n" if target else ""
    patch = form(f"*** Begin Patch\n*** Update File: m.py\n{move}{change}*** Delete File: old.py\n*** End Patch\n")
    draft = Draft(TextTree({"m.py": TWICE, "old.py": "x\n"}), {}, SPEC)
    taken = draft.take(parse(Completion(text=patch, backend="b", model="m")))
    after = TWICE.replace(*CHANGES[change])
    assert (taken.faults, taken.refused) == ((), ())
    assert draft.change == {"old.py": None, **({target: after, "m.py": None} if target else {"m.py": after})}
    draft.take(parse(Completion(text=patch, backend="b", model="m")))
    assert draft.change[target or "m.py"] == after, "a reply that comes again changes nothing"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("*** Update File: m.py\n*** Move to: old.py\n", "old.py, which is there already"),
        ("*** Update File: m.py\n*** Move to: new.py\n@@\n-nowhere\n+x\n", "is not in the file"),
        ("*** Update File: m.py\n*** Move to: ../new.py\n", "relative to the repository's root"),
        ("*** Update File: m.py\n@@\n-    return 1\n+    return 2\n", "stands at several places"),
    ],
)
def test_a_patch_that_cannot_be_carried_out_changes_nothing(body: str, fault: str) -> None:
    draft = Draft(TextTree({"m.py": TWICE, "old.py": "x\n"}), {}, SPEC)
    try:
        faults = draft.take(
            parse(Completion(text=f"*** Begin Patch\n{body}*** End Patch\n", backend="b", model="m"))
        ).faults
    except BadReply as bad:
        faults = (str(bad),)
    assert fault in "\n".join(faults)
    assert draft.change == {}


def test_of_a_patch_that_was_cut_off_the_last_file_is_left_out_and_blocks_beside_one_are_read() -> None:
    files = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** Add File: b.py\n+y = "
    for form in (files, f"```\n{files}", f"```diff\n{files}\n```\n"):
        cut = parse(Completion(text=form, backend="b", model="m", finish=Finish.LENGTH))
        assert (cut.files, cut.cut) == ({"a.py": "x = 1\n"}, True)
    beside = parse(Completion(text=f"```python path=c.py\nz = 1\n```\n\n{UPDATE}", backend="b", model="m"))
    assert (beside.files, [edit.path for edit in beside.edits]) == ({"c.py": "z = 1\n"}, ["m.py"])
    words = parse(Completion(text="No *** Begin Patch:\n```\nz = 1\n```\n", backend="b", model="m"), expected=["c.py"])
    assert words.files == {"c.py": "z = 1\n"}
