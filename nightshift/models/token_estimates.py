"""Estimates the tokens of texts: a rough figure for any model, and a better one from each backend's own counts.

The tokenizers of remote models are not available offline, and the GPT4All bindings do not expose the tokenizer of a
local model. But every backend counts the tokens of the prompts that it receives. The estimate is the upper quartile of
the last few counts, in tokens per byte, so a single odd report does not change it. Servers that omit cached tokens
report too few tokens. The upper quartile makes prompts too short in such a case, rather than too long. Implausible
reports are ignored, and so are reports on prompts so short that the chat format outweighs their text.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nightshift.core.built_in import BUILT_IN
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.gauge import BYTES_PER_TOKEN, Gauge, ModelProfile, utf8_size
from nightshift.core.tools import ToolCall

TOKENS_PER_MESSAGE = 4
MAX_TOKENS = 100_000_000
"""Maximum plausible number of tokens in a prompt or a reply."""
KEPT_REPORTS = 32
LEAST_REPORTS = 3
LEAST_BYTES = 1000
PLAUSIBLE = (1.5, 8.0)
"""Plausible bytes per token: digits and rare letters at one end, prose with a large vocabulary at the other."""
_QUARTILE = 0.75
_USUAL = Gauge()


def estimate_tokens(texts: Iterable[str], gauge: Gauge = _USUAL) -> int:
    """Estimate the tokens of messages. The default gauge is the one for an unknown model."""
    return sum(gauge.tokens(text) + TOKENS_PER_MESSAGE for text in texts)


def estimate_request(request: ModelRequest) -> int:
    """Estimate the tokens of a prompt for an unknown model, including the tools and the tool calls."""
    return estimate_tokens(_texts_of(request))


def estimate_reply(reply: Completion) -> int:
    """Estimate the tokens of a reply, including its thoughts and tool calls."""
    thoughts = (each.text for each in reply.thoughts)
    return estimate_tokens(["".join([reply.text, *thoughts, *_texts_of_calls(reply.tool_calls)])])


def fill_counts(request: ModelRequest, reply: Completion) -> Completion:
    """Replace token counts that are missing or invalid by estimates."""
    counts = (reply.tokens_in, reply.tokens_out)
    is_empty = not (reply.text or reply.tool_calls)
    is_counted = all(isinstance(count, int) and 0 <= count <= MAX_TOKENS for count in counts)
    if reply.backend == BUILT_IN or (is_counted and counts[0] and (counts[1] or is_empty)):
        return reply
    extra = {**reply.extra, "estimated": True}
    return replace(reply, tokens_in=estimate_request(request), tokens_out=estimate_reply(reply), extra=extra)


def _texts_of(request: ModelRequest) -> Iterator[str]:
    """Yield the texts that a model is sent: one for each message, and one for the tools."""
    for message in request.messages:
        yield "".join([message.text, *(each.text for each in message.thoughts), *_texts_of_calls(message.tool_calls)])
    if request.tools:
        yield json.dumps([[tool.name, tool.description, tool.schema] for tool in request.tools])


def _texts_of_calls(calls: Iterable[ToolCall]) -> Iterator[str]:
    return (call.name + json.dumps(dict(call.arguments)) for call in calls)


class TokenEstimator:
    """The learned bytes per token of one model. Must be used from one event loop."""

    def __init__(self) -> None:
        self._rates: deque[float] = deque(maxlen=KEPT_REPORTS)

    @property
    def bytes_per_token(self) -> float:
        """The current estimate; the default value until enough prompts were counted."""
        if len(self._rates) < LEAST_REPORTS:
            return BYTES_PER_TOKEN
        ranked = sorted(self._rates)
        return 1.0 / ranked[min(len(ranked) - 1, int(len(ranked) * _QUARTILE))]

    def learn(self, request: ModelRequest, completion: Completion) -> None:
        """Learn from a backend's count of a prompt.

        Counts that are our own estimates are ignored, and so are those of agents, which include the agent's own calls.
        """
        texts = [*_texts_of(request)]
        size = sum(map(utf8_size, texts))
        tokens = completion.tokens_in - TOKENS_PER_MESSAGE * len(texts)
        if completion.extra.get("estimated") or completion.extra.get("own_calls") or size < LEAST_BYTES:
            return
        if completion.tokens_in * 2 < self.tokens(request):  # truncated prompt, or cached tokens not counted
            return
        if tokens > 0 and PLAUSIBLE[0] <= size / tokens <= PLAUSIBLE[1]:
            self._rates.append(tokens / size)

    def tokens(self, request: ModelRequest) -> int:
        """Estimate the tokens of a prompt for this model."""
        return estimate_tokens(_texts_of(request), Gauge(bytes_per_token=self.bytes_per_token))


def most_cautious(gauges: Sequence[Gauge]) -> Gauge:
    """Return a gauge that is safe for all of several models; the default gauge if there are none.

    Plain reply forms (without JSON and tool calls) are used only if all models need them.
    """
    windows = [gauge.window for gauge in gauges if gauge.window is not None]
    rate = min((gauge.bytes_per_token for gauge in gauges), default=BYTES_PER_TOKEN)
    own_tools = bool(gauges) and all(gauge.own_tools for gauge in gauges)
    profiles = [gauge.profile for gauge in gauges]
    usual = next((profile for profile in profiles if not profile.is_plain), None)
    profile = usual or next(iter(profiles), ModelProfile())
    return Gauge(bytes_per_token=rate, window=min(windows, default=None), own_tools=own_tools, profile=profile)
