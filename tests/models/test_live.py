"""The text that models are currently writing: who can read it, and how little of it is kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.models.base import CallName, CallText
from nightshift.models.live import SHOWN_CHARS, CallEnd, LiveCalls, LivePart, LiveText
from tests.models.test_call import Script

BEGAN = datetime(2026, 11, 26, 4, 0, tzinfo=UTC)


def begin(calls: LiveCalls, task_id: int | None = 7) -> LiveText:
    request = ModelRequest(phase=Phase.CODING, messages=(), task_id=task_id, attempt=2, step_no=3, call_no=1)
    text = calls.begin(request, Script([]))
    assert text
    return text


def read_words(calls: LiveCalls) -> str:
    (call,) = calls.open()
    return "".join(part.text for part in call.parts)


def test_a_call_is_told_from_its_beginning_to_its_end() -> None:
    calls, woken = LiveCalls(lambda: BEGAN), list[int]()
    calls.watch(lambda: woken.append(1))
    text = begin(calls)
    (call,) = calls.news()
    assert (call.task_id, call.attempt, call.step_no, call.call_no) == (7, 2, 3, 1)
    assert (call.backend, call.model, call.phase, call.began_at) == ("script", "m", Phase.CODING, BEGAN)
    assert (call.thinks, call.parts, call.end) == (False, (), None)
    text.take("")
    assert calls.news()[0].thinks
    text.take("Let me ")
    text.take("look.")
    (call,) = calls.news()
    assert call.parts == (LivePart(text="Let me look."),)
    assert (call.tokens, call.estimated) == (3, True)
    text.end(Completion(text="Let me look.", backend="script", model="m", tokens_out=5))
    (call,) = calls.news()
    assert (call.end, call.tokens, call.estimated) == (CallEnd.ANSWERED, 5, False)
    assert (calls.open(), calls.news()) == ([], [])
    assert len(woken) == 4


def test_tool_calls_are_parts_of_their_own() -> None:
    calls = LiveCalls()
    text = begin(calls)
    for piece in ("I look.", CallName("run"), CallText('{"com'), CallText('mand":"ls"}'), CallName("done")):
        text.take(piece)
    text.take(CallText("{}"))
    assert calls.open()[0].parts == (
        LivePart(text="I look."),
        LivePart(tool="run", text='{"command":"ls"}'),
        LivePart(tool="done", text="{}"),
    )


def test_who_watches_is_woken_once_for_all_that_comes_until_he_looks() -> None:
    calls, woken = LiveCalls(), list[int]()
    end = calls.watch(lambda: woken.append(1))
    text = begin(calls)
    for _ in range(100):
        text.take("word ")
    assert len(woken) == 1
    assert len(calls.news()) == 1
    text.take("more")
    assert len(woken) == 2
    end()
    calls.news()
    text.take("more")
    assert len(woken) == 2


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("<think>", "</think>"), ("Sure.\n<thought>\n", "</thought>\n")],
)
def test_thoughts_in_tags_are_apart_from_the_first_word_on_however_long_they_are(opening: str, closing: str) -> None:
    calls = LiveCalls()
    text = begin(calls)
    for piece in (*opening, "hm "):
        text.take(piece)
    first = calls.open()[0].parts[0]
    assert (first.text.strip(), first.is_thought) == ("hm", True)
    for _ in range(SHOWN_CHARS):
        text.take("hm ")
    greeting = opening.partition("\n")[0] if "\n" in opening else ""
    assert [part.text.strip() for part in calls.open()[0].parts if not part.is_thought] == [greeting] * bool(greeting)
    for piece in (*closing, "x = 1"):
        text.take(piece)
    thought, shown = calls.open()[0].parts
    text_shown = f"{greeting}\n\nx = 1" if greeting else "x = 1"
    assert (thought.is_thought, thought.text[-3:], shown) == (True, "hm ", LivePart(text=text_shown))


def test_what_is_dropped_does_not_hide_that_a_key_began() -> None:
    calls = LiveCalls()
    text = begin(calls)
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA\n" * 200 + "-----END RSA PRIVATE KEY-----\n"
    text.take("a" * (SHOWN_CHARS - 1500) + "\n" + key)
    text.take("b " * ((SHOWN_CHARS - len(key)) // 2 + 1000))
    words = read_words(calls)
    assert calls.open()[0].cut
    assert words.startswith("-----BEGIN RSA PRIVATE KEY-----"), words[:80]
