"""How many tokens texts are: a rough figure for any model, and one for each model learnt from what its backend counts.

The tokenizers of remote models are not to be had offline, and the bindings of GPT4All do not hand out that of a local
model; but every backend counts the prompts that it is sent. Of these counts the upper quartile of the last few is used,
in tokens to a byte: one odd report does not move it, and where reports differ (servers that leave out what they had in
their cache report too few tokens) it errs towards prompts that are too short rather than too long. Reports that no
tokenizer could give are passed over, and so are prompts so short that the chat format outweighs their text.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.gauge import BYTES_PER_TOKEN, Gauge, utf8_size
from nightshift.core.model_profile import ModelProfile
from nightshift.core.tools import ToolCall

TOKENS_PER_MESSAGE = 4
MAX_TOKENS = 100_000_000
"""No prompt and no reply has so many."""
KEPT_REPORTS = 32
LEAST_REPORTS = 3
LEAST_BYTES = 1000
PLAUSIBLE = (1.5, 8.0)
"""Bytes to a token: digits and rare letters at one end, prose with a large vocabulary at the other."""
_QUARTILE = 0.75
_USUAL = Gauge()


def estimate_tokens(texts: Iterable[str], gauge: Gauge = _USUAL) -> int:
    """About how many tokens these messages are, by default where nothing is known of the model."""
    return sum(gauge.tokens(text) + TOKENS_PER_MESSAGE for text in texts)


def estimate_request(request: ModelRequest) -> int:
    """About how many tokens a prompt is where nothing is known of the model, its tools and their calls included."""
    return estimate_tokens(_texts_of(request))


def estimate_reply(reply: Completion) -> int:
    """About how many tokens a reply is, its thoughts and calls included."""
    thoughts = (each.text for each in reply.thoughts)
    return estimate_tokens(["".join([reply.text, *thoughts, *_texts_of_calls(reply.tool_calls)])])


def fill_counts(request: ModelRequest, reply: Completion) -> Completion:
    """The reply with estimates in the place of counts that its server did not give, or that are none."""
    counts = (reply.tokens_in, reply.tokens_out)
    is_empty = not (reply.text or reply.tool_calls)
    is_counted = all(isinstance(count, int) and 0 <= count <= MAX_TOKENS for count in counts)
    if reply.backend == BUILT_IN or (is_counted and counts[0] and (counts[1] or is_empty)):
        return reply
    extra = {**reply.extra, "estimated": True}
    return replace(reply, tokens_in=estimate_request(request), tokens_out=estimate_reply(reply), extra=extra)


def _texts_of(request: ModelRequest) -> Iterator[str]:
    """The texts that a model is sent: one for each message, and one for the tools."""
    for message in request.messages:
        yield "".join([message.text, *(each.text for each in message.thoughts), *_texts_of_calls(message.tool_calls)])
    if request.tools:
        yield json.dumps([[tool.name, tool.description, tool.schema] for tool in request.tools])


def _texts_of_calls(calls: Iterable[ToolCall]) -> Iterator[str]:
    return (call.name + json.dumps(dict(call.arguments)) for call in calls)


class TokenEstimator:
    """The running figure of one model. Used from one event loop."""

    def __init__(self) -> None:
        self._rates: deque[float] = deque(maxlen=KEPT_REPORTS)

    @property
    def bytes_per_token(self) -> float:
        """The present figure: the usual one until enough prompts were counted."""
        if len(self._rates) < LEAST_REPORTS:
            return BYTES_PER_TOKEN
        ranked = sorted(self._rates)
        return 1.0 / ranked[min(len(ranked) - 1, int(len(ranked) * _QUARTILE))]

    def learn(self, request: ModelRequest, completion: Completion) -> None:
        """Learn from what a backend counted; estimates of our own teach nothing, nor what an agent counts by itself."""
        texts = [*_texts_of(request)]
        size = sum(map(utf8_size, texts))
        tokens = completion.tokens_in - TOKENS_PER_MESSAGE * len(texts)
        if completion.extra.get("estimated") or completion.extra.get("own_calls") or size < LEAST_BYTES:
            return
        if completion.tokens_in * 2 < self.tokens(request):  # what was cut, or left out as it was in a cache
            return
        if tokens > 0 and PLAUSIBLE[0] <= size / tokens <= PLAUSIBLE[1]:
            self._rates.append(tokens / size)

    def tokens(self, request: ModelRequest) -> int:
        """About how many tokens a prompt is for this model."""
        return estimate_tokens(_texts_of(request), Gauge(bytes_per_token=self.bytes_per_token))


def most_cautious(gauges: Sequence[Gauge]) -> Gauge:
    """The gauge that holds for each of several models; the usual figure where there is none.

    Plain forms are for models that need them, so only where all do.
    """
    windows = [gauge.window for gauge in gauges if gauge.window is not None]
    rate = min((gauge.bytes_per_token for gauge in gauges), default=BYTES_PER_TOKEN)
    own_tools = bool(gauges) and all(gauge.own_tools for gauge in gauges)
    profiles = [gauge.profile for gauge in gauges]
    usual = next((profile for profile in profiles if not profile.is_plain), None)
    profile = usual or next(iter(profiles), ModelProfile())
    return Gauge(bytes_per_token=rate, window=min(windows, default=None), own_tools=own_tools, profile=profile)
