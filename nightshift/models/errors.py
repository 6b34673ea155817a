"""Maps a vendor's errors to ours: whether to retry, how long the vendor asks us to wait, and how to fix the problem."""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from nightshift.core.clock import from_text
from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable, PromptTooLong
from nightshift.core.text.masking import MASK, printable
from nightshift.models.model_table import PHRASES, TABLE
from nightshift.models.server_facts import blames_context

RETRYABLE = frozenset({408, 409, 423, 425, 429})
NO_CREDIT_WAIT_S = 3600.0
LONGEST_WAIT_S = 31 * 86400.0
"""Maximum wait in seconds. A server cannot mean a wait of more than a month, so a longer one is ignored."""
_LENGTH = r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])"
_DELAY = re.compile(
    rf"(?:retry|try again|retryDelay|wait|reset|available)[^.\d]{{0,40}}?((?:{_LENGTH}[\s,and]*)+)", re.IGNORECASE
)
_WORDS = ("message", "detail", "error", "errors", "msg", "error_message", "reason", "title")
"""Keys under which servers put their error message, in order of precedence."""
_AFFORDED = re.compile(r"can only afford (\d+)")
LEAST_AFFORDED = 1024
"""Reply in tokens that the rest of a credit must pay for; with less, the account counts as empty."""
KINDS = ("insufficient_quota", "context_length_exceeded", "Arrearage", "tool_use_failed")
"""Error kinds that say more than the message sent with them."""
_UNREADABLE = (ValueError, TypeError, IndexError, OverflowError)
"""Exceptions of the standard library for dates that cannot be parsed."""


class BackendMisconfigured(ModelRefused):
    """The backend's key, model or address is wrong: it will refuse every request until the owner fixes it."""


class RequestRefused(ModelRefused):
    """A request was refused, and it is not known yet whether the request or the backend is at fault.

    The next request of another task shows whether the backend refuses every request.

    Args:
        message: text for the owner.
        status: the HTTP status.
        words: the server's own message.
    """

    def __init__(self, message: str, *, status: int = 400, words: str = "") -> None:
        super().__init__(message)
        self.status, self.words = status, words or message


class TimedOut(ModelUnavailable):
    """A timeout of the call expired; the same backend is not asked again immediately."""


class ThinkingUsedUp(ModelRefused):
    """The model used its whole reply for thinking. The request is repeated with less thinking, then with more room."""


class CircuitOpen(ModelUnavailable):
    """The backend was not asked, because it failed recently. This error says nothing new about the backend."""


class ToolsRefused(ModelRefused):
    """The server or its model does not support native tool calls.

    The request is repeated with the tools described in the text.
    """


class BackendUnfit(ModelRefused):
    """The backend cannot handle this request, which is not a failure but a reason to ask another backend.

    Args:
        message: the reason, for the owner.
        seconds: how long the backend searched.
        tried: number of candidates that the backend tried.
    """

    def __init__(self, message: str, *, seconds: float = 0.0, tried: int = 0) -> None:
        super().__init__(message)
        self.seconds, self.tried = seconds, tried


def too_long(model: str, num_ctx: int) -> PromptTooLong:
    """Return the error for a prompt that does not fit the context of a local model."""
    advice = "raise MODEL_NUM_CTX or use a model with a larger context"
    return PromptTooLong(f"the prompt does not fit {model}'s context of {num_ctx} tokens: {advice}")


def from_status(
    who: str, status: int, headers: Mapping[str, str], message: str, *, fix: str = "", now: datetime | None = None
) -> ModelError:
    """Return the error for an HTTP status.

    Args:
        who: the backend, for the message.
        status: the HTTP status, 400 or more.
        headers: the response's headers, with lower-case names.
        message: the server's message, with secrets already removed.
        fix: what the owner can do about a wrong key or model.
        now: the current time, for headers that name a time of day; used if the response has no `date` header.
    """
    detail = f"{who} answered {status}: {message}"
    present = _read_date(headers.get("date", "")) or now or datetime.now(UTC)
    said_s = _read_words_s(message, present)
    afforded = _AFFORDED.search(message)
    if not (afforded and int(afforded[1]) >= LEAST_AFFORDED) and (
        status == 402 or PHRASES["no_credit"].search(message)
    ):
        wait = f"{detail} (the account has no credit left; add credit at the provider)"
        return ModelUnavailable(wait, retry_after_s=NO_CREDIT_WAIT_S if said_s is None else said_s)
    is_limit = said_s is not None and PHRASES["limit"].search(message) and not blames_context(message)
    if status in RETRYABLE or status >= 500 or is_limit:
        asked_s = retry_after_s(headers, present)
        return ModelUnavailable(detail, retry_after_s=said_s if asked_s is None else asked_s)
    if status == 401:
        return BackendMisconfigured(f"{detail}. {fix}".rstrip(". ") + ".")
    return RequestRefused(detail)


def _read_words_s(message: str, now: datetime) -> float | None:
    """Return the wait that an error message states in words, in seconds; None if it states none.

    An example of such a message is “Please retry in 21.5s”.
    """
    until, delay = PHRASES["until"].search(message), _DELAY.search(message)
    text = f"{until[1]}T{until[2] or '00:00'}" if until else delay[1] if delay else ""
    return _read_wait_s(text, now)


def words_of(body: object) -> str:
    """Return the server's message from an error body (OpenAI's form, a list, `detail`, plain text or HTML)."""
    if isinstance(body, str):
        try:
            return words_of(json.loads(body)) or body
        except (ValueError, RecursionError):
            return " ".join(re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", body, flags=re.DOTALL).split())
    if isinstance(body, Mapping):
        words = next((words for key in _WORDS if (words := words_of(body.get(key)))), "")
        if words and isinstance(places := body.get("loc"), list) and places:
            words = f"{places[-1]}: {words}"
        if isinstance(more := body.get("metadata"), Mapping) and (upstream := words_of(more.get("raw"))):
            words = f"{words}: {upstream}"  # OpenRouter's own message never says more than that there was an error
        if words and isinstance(parameter := body.get("param"), str) and parameter not in words:
            words = f"{words} ({parameter})"
        if words and isinstance(body.get("n_ctx"), int):
            words = f"{words}, n_ctx={body['n_ctx']}"
        kinds = [body[key] for key in ("code", "type") if body.get(key) in KINDS and body[key] not in words]
        waits = PHRASES["waits"].findall(json.dumps({**body, "error": None}, default=str))
        return " ".join(
            [*filter(None, [words]), *kinds, *(f"retry after {many} {unit or 's'}" for unit, many in waits)]
        )
    if isinstance(body, list):
        return "; ".join(filter(None, map(words_of, body[:5])))
    return ""


def quote(text: object, secret: str | None = None, max_chars: int = 400) -> str:
    """Return a server's message as one line that is safe to show: without key and control characters, truncated."""
    detail = " ".join(str(text).split())
    return printable(detail.replace(secret, MASK) if secret else detail, max_chars=max_chars)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the wait that a server asks for, in seconds, or None.

    Reads `retry-after-ms`, `Retry-After` (seconds or an HTTP date, RFC 9110 section 10.2.3), and the reset times of
    OpenAI (`6m0s`), Anthropic (RFC 3339) and others (seconds, or a Unix time in seconds or milliseconds). A reset time
    counts only if its limit is used up.
    """
    if milliseconds := _read_number(headers.get("retry-after-ms")):
        return _read_wait_s(f"{milliseconds:f} ms", now)
    if text := headers.get("retry-after"):
        return _read_wait_s(text, now)
    used_up = (end for end, left in TABLE["limits"].items() if headers.get(left, "0") == "0")
    waits = (_read_wait_s(headers.get(end, ""), now) for end in used_up)
    return max((wait for wait in waits if wait is not None), default=None)


def _read_wait_s(text: str, now: datetime) -> float | None:
    """Parse a duration or a point in time and return the seconds until then; None if the value is implausible."""
    number = _read_number(text)
    if number is None and (at := _read_date(text)):
        number = at.timestamp()
    lengths = re.findall(_LENGTH, text.lower())
    if number is None and lengths:
        number = sum(float(count) * _seconds_of(unit) for count, unit in lengths)
    if number is None:
        return None
    at_s = number / 1000 if number > 1e11 else number
    wait_s = max(0.0, at_s - now.timestamp()) if at_s > 1e9 else at_s
    return wait_s if wait_s <= LONGEST_WAIT_S else None


def _seconds_of(unit: str) -> float:
    by_beginning = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}  # the first match wins
    return next(seconds for beginning, seconds in by_beginning.items() if unit.startswith(beginning))


def _read_date(text: str) -> datetime | None:
    for read in (email.utils.parsedate_to_datetime, from_text):
        try:
            at = read(text.strip())
        except _UNREADABLE:
            continue
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
