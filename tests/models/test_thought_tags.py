"""A model's thoughts are removed from the text of its reply, whatever tag marks them, but never from a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.dialogue import Completion
from nightshift.models.thought_tags import split_thoughts, without_thoughts

REPLY = "Summary: s.\n\n```python path=slug.py\nx = 1\n```\n"
DRAFT = "Let me try.\n\n```python path=slug.py\ny = 2\n```\n\nHmm, no.\n"
OPEN = "Let me try.\n\n```python\ny = 2\n\nHmm, no.\n"


@pytest.mark.parametrize("draft", [DRAFT, OPEN])
@pytest.mark.parametrize(
    "form",
    [
        "{}</think>\n\n", "<think>{}</think>\n", "<thinking>\n{}</thinking>", "<thought>{}</thought>\n",
        "<seed:think>{}</seed:think>\n", "[THINK]{}[/THINK]", "◁think▷{}◁/think▷", "Sure.\n<think>\n{}</think>\n\n",
        "<reasoning>{}</reasoning>", "<|channel>thought\n{}<channel|>", "<think>a</think>\n<think>{}</think>",
        "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
        "<Think>{}</Think>\n", "<mm:think>{}</mm:think>\n", "<longcat_think>{}</longcat_think>", "<think >{}</think >",
        "<antThinking>{}</antThinking>\n", "<unused94>thought\n{}<unused95>", "<|thinking|>{}<|/thinking|>",
        "<|begin_of_thought|>{}<|end_of_thought|>\n<|begin_of_solution|>", "<|think|>{}<|/think|>",
        "analysis{}assistantfinal",
        "<think>{}</think><|begin_of_box|>", "<think>{}</think>\n<answer>", '<details type="reasoning">{}</details>\n',
    ],
)  # fmt: skip
def test_a_draft_in_the_thoughts_is_no_part_of_the_reply(form: str, draft: str) -> None:
    thoughts, text = split_thoughts(form.format(draft) + REPLY)
    assert text.endswith(REPLY)
    assert "y = 2" not in text
    assert "y = 2" in thoughts


@pytest.mark.parametrize(
    "text",
    [
        "```html path=a.html\n<p></think>\n```\n",
        "```html path=a.html\n<p></think>\n```\n\n```python path=b.py\nx\n```\n",
        "The `</think>` tag is cut.\n\n" + REPLY, "```python path=a.py\n<think>\nT = '<think>'\n</think>\n```\n",
        "Summary: handle <think> tags\n\n" + REPLY,
        "```text path=a.txt\n<|channel|>analysis<|message|>x<|end|>\n```\n", REPLY, "",
    ],
)  # fmt: skip
def test_tags_in_files_and_in_sentences_stay(text: str) -> None:
    assert split_thoughts(text) == ("", text)


def test_what_never_ends_is_all_thought() -> None:
    reply = without_thoughts(Completion(text="<think>and on", backend="b", model="m"))
    assert (reply.text, reply.thoughts[0].text) == ("", "and on")
    for token in ("<|im_end|>", "</s>", "<｜end▁of▁sentence｜>\n", "<end_of_turn><eos>", "[/INST]"):
        reply = Completion(text=REPLY.strip() + token, backend="b", model="m")
        assert without_thoughts(reply).text == REPLY.strip()


@given(st.text(alphabet="ab<>/think[]THINK\n`◁▷|", max_size=60))
def test_nothing_of_a_text_is_lost_but_tags_and_blanks(text: str) -> None:
    thoughts, shown = split_thoughts(text)
    assert len(thoughts) + len(shown) <= len(text) + 4
    assert shown == text or thoughts or "<" in text or "[" in text or "◁" in text
