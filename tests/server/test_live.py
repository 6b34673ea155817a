"""The text that models are writing, on its way to the pages.

It is complete for each client, limited in size, and contains no secrets even where it is cut.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.models.base import CallName, CallText
from nightshift.models.live import LiveCalls, LiveText
from nightshift.server.context import AppContext
from nightshift.server.log.live import MOST_ENDED, Live, Take
from tests.models.test_call import Script
from tests.server.test_stream import streaming
from tests.support.app_context import Client
from tests.support.sse import Listener

SECRET, SHAPED = "hunter2-hunter2-hunter2", "sk-abcdefghijklmnopqrstuvwxyz0123"


def begin(calls: LiveCalls, task_id: int = 7) -> LiveText:
    text = calls.begin(ModelRequest(phase=Phase.CODING, messages=(), task_id=task_id, attempt=1), Script([]))
    assert text
    return text


class Screen:
    """The model calls on a page, assembled from the frames of the stream and stored by their numbers."""

    def __init__(self) -> None:
        self.parts: dict[int, list[tuple[str, str]]] = {}
        self.last: dict[str, Any] = {}

    def read(self, frames: Sequence[bytes]) -> None:
        for frame in frames:
            head, data = frame.decode().split("\n", 1)
            assert head == "event: writing", "it has no id, so that no client resumes behind it"
            self.take(json.loads(data.removeprefix("data: ")))

    def take(self, frame: dict[str, Any]) -> None:
        self.parts[frame["call"]] = [(each["tool"], each["text"]) for each in frame["parts"]]
        self.last = frame

    def text(self, call: int = 1) -> str:
        return "".join(text for _, text in self.parts.get(call, ()))


class Watching:
    """A client of the live text: it takes new frames, and `woken` is set when there are some."""

    def __init__(self, take: Take, woken: asyncio.Event) -> None:
        self.take, self.woken = take, woken


@contextmanager
def watching(live: Live) -> Iterator[Watching]:
    woken = asyncio.Event()
    with live.watch(woken) as take:
        yield Watching(take, woken)


async def show(watcher: Watching, screen: Screen) -> None:
    """Wait for new frames, and show them on the screen."""
    await watcher.woken.wait()
    watcher.woken.clear()
    screen.read(watcher.take(None))


async def test_a_reply_grows_on_the_screen_and_ends() -> None:
    calls, screen = LiveCalls(), Screen()
    live = Live(calls, Masker(), pause_s=0)
    with watching(live) as watcher:
        text = begin(calls)
        await show(watcher, screen)
        assert (screen.last["thinks"], screen.text()) == (False, "")
        text.take("Let me ")
        await show(watcher, screen)
        assert screen.text() == "Let me "
        text.take("look. Now ")
        await show(watcher, screen)
        assert screen.text() == "Let me look. Now "
        text.take(CallName("run"))
        text.take(CallText('{"command": "ls'))
        await show(watcher, screen)
        assert screen.parts[1] == [("", "Let me look. Now "), ("run", '{"command": ')]
        text.end(Completion(text="", backend="script", model="m", tokens_out=12))
        await show(watcher, screen)
        assert screen.parts[1][1] == ("run", '{"command": "ls')
        assert (screen.last["end"], screen.last["tokens"], screen.last["estimated"]) == ("answered", 12, False)


async def test_who_joins_in_the_middle_gets_what_was_written_so_far() -> None:
    calls, first, second = LiveCalls(), Screen(), Screen()
    text = begin(calls)
    text.take("before anybody watched ")
    live = Live(calls, Masker(), pause_s=0)
    with watching(live) as watcher:
        first.read(watcher.take(None))
        assert first.text() == "before anybody watched "
        text.take("and after ")
        await show(watcher, first)
        with watching(live) as other:
            second.read(other.take(None))
            assert second.parts == first.parts
            text.take("that")
            text.end(None)
            await show(watcher, first)
            second.read(other.take(None))
    assert first.text() == second.text() == "before anybody watched and after that"
    assert first.last["end"] == "broken"


async def test_who_falls_behind_gets_all_of_it_again_and_no_queue_grows_for_him() -> None:
    calls, quick, slow = LiveCalls(), Screen(), Screen()
    live = Live(calls, Masker(), pause_s=0)
    text = begin(calls)
    with watching(live) as watcher, watching(live) as behind:
        slow.read(behind.take(None))
        for number in range(20):
            text.take(f"{number} ")
            await show(watcher, quick)
        for _ in range(2 * MOST_ENDED):
            begin(calls).end(None)
            await show(watcher, quick)
        assert len(live._frames) <= MOST_ENDED + 1
        frames = behind.take(None)
        slow.read(frames)
        assert slow.text() == quick.text()
        assert behind.take(None) == []


SAID = ["a ", "key ", f"{SECRET} ", f"{SHAPED} ", "é\u2028 ", "\x1b[31m ", "x" * 600 + " ", "\n"]
WORDS = st.lists(st.sampled_from(SAID), max_size=12)


@settings(max_examples=60, deadline=None)
@given(words=WORDS, data=st.data())
def test_no_secret_is_shown_however_it_is_cut_into_pieces(words: list[str], data: st.DataObject) -> None:
    full_text = "".join(words)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(full_text)), max_size=40)))
    pieces = [full_text[a:b] for a, b in zip([0, *cuts], [*cuts, len(full_text)], strict=True)]

    async def watch_pieces() -> None:
        mask = Masker([SECRET])
        calls, screen = LiveCalls(), Screen()
        live, text = Live(calls, mask, pause_s=0), begin(calls)
        final = mask.shown(full_text)
        with watching(live) as watcher:
            screen.read(watcher.take(None))
            for piece in pieces:
                text.take(piece)
                await show(watcher, screen)
                assert SECRET[:8] not in screen.text()
                assert "sk-" not in screen.text()
                assert final.startswith(screen.text()), "what was shown is not taken back"
            text.end(None)
            await show(watcher, screen)
            assert screen.text() == final

    asyncio.run(watch_pieces())


# The live text over HTTP.


def test_only_who_asks_for_it_is_told_and_by_events_without_an_id(
    context: AppContext, client: Client, listen: type[Listener]
) -> None:
    log_listener, live = listen(client.host.port), listen(client.host.port, "?live=true")
    text, screen = begin(context.live), Screen()
    text.take("written <b>now</b> ")
    while not screen.text():
        (kind, number, data), *_ = live.take(1)
        assert (kind, number) == ("writing", None)
        screen.take(data)
    assert screen.text() == "written <b>now</b> "
    context.queue.pause("for the log").result()
    assert log_listener.take(1)[0][0] == "message", "an event of the log is the first that it hears of"


async def test_the_server_stops_while_something_is_written(context: AppContext) -> None:
    text = begin(context.live)
    async with streaming(context) as (port, stream):
        listener = await asyncio.to_thread(Listener, port, "?live=true")
        text.take("word ")
        await asyncio.to_thread(listener.take, 1)
        await stream.close()
        rest = await asyncio.to_thread(listener.rest)
        assert rest[-1][0] == "end"
        listener.close()
