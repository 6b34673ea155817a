"""Errors of vendors become Nightshift's own errors, which say whether and when a call may be retried."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import ModelError, ModelUnavailable
from nightshift.models.errors import BackendMisconfigured, RequestRefused, from_status, quote, retry_after_s, words_of

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None), ({"retry-after": "30"}, 30), ({"retry-after": "Sun, 01 Mar 2026 12:01:30 GMT"}, 90),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0), ({"retry-after": "-5"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25), ({"x-ratelimit-reset-requests": "1h2m3s"}, 3723),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "9"}, None),
        ({"anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:45Z"}, 45),
        ({"x-ratelimit-reset": str(int(NOW.timestamp()) + 60)}, 60),
        ({"x-ratelimit-reset": str(int(NOW.timestamp() * 1000) + 60_000)}, 60),
    ],
)  # fmt: skip
def test_the_wait_is_read_from_what_vendors_send(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers, NOW) == (wait_s if wait_s is None else pytest.approx(wait_s))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestRefused), (413, RequestRefused), (422, RequestRefused), (403, RequestRefused),
        (404, RequestRefused), (401, BackendMisconfigured), (402, ModelUnavailable),
        (408, ModelUnavailable), (409, ModelUnavailable), (425, ModelUnavailable), (429, ModelUnavailable),
        (500, ModelUnavailable), (503, ModelUnavailable), (529, ModelUnavailable),
    ],
)  # fmt: skip
def test_a_status_says_whether_to_try_again(status: int, kind: type[ModelError]) -> None:
    error = from_status("Vendor", status, {}, "said so", fix="Check the key")
    assert type(error) is kind
    assert "said so" in str(error)
    assert ("Check the key" in str(error)) == (kind is BackendMisconfigured)


@pytest.mark.parametrize(
    ("status", "text", "wait_s"),
    [
        (429, "insufficient_quota: you exceeded your quota", 3600),
        (400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing", 3600),
        (400, "You have reached your API usage limits. You will regain access on 2026-03-05 at 00:00 UTC.", None),
        (403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys", 3600),
        (400, "You've hit your usage limit. Try again in 2 days 3 hours.", 183_600),
        (403, "Your spending limit is reached; it resets in 90 minutes", 5400),
        (500, "billing hard limit reached", 3600),
        (429, "Your account is suspended, please check your plan and billing details", 3600),
        (400, "余额不足或无可用资源包，请充值。", 3600),
        (402, "You requested up to 8192 tokens, but can only afford 57.", 3600),
    ],
)
def test_no_credit_left_is_a_matter_of_hours_or_of_the_stated_time(status: int, text: str, wait_s: int | None) -> None:
    error = from_status("OpenAI", status, {"retry-after": "1"}, text, now=NOW)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s == (wait_s or (datetime(2026, 3, 5, tzinfo=UTC) - NOW).total_seconds())
    assert "add credit at the provider" in str(error)


@pytest.mark.parametrize("status", [400, 429])
@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("Rate limit exceeded, try again in 20s", 20.0),
        ("Weekly limit reached. Resets at 2026-03-05 00:00", None),
        ("Too many requests: retry after 3 minutes", 180.0),
    ],
)
def test_a_limit_until_a_stated_time_waits_in_any_status(status: int, text: str, wait_s: float | None) -> None:
    error = from_status("X", status, {}, text, now=NOW)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s == (wait_s or (datetime(2026, 3, 5, tzinfo=UTC) - NOW).total_seconds())


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("Please retry in 21.512345678s.", 21.512345678), ("Rate limit reached. Please try again in 7.5s", 7.5),
        ('quota "retryDelay": "44s"', 44), ("Request was throttled. Expected available in 12 seconds.", 12),
        ("slow down; retry after 99999999 hours", None), ("slow down", None),
    ],
)  # fmt: skip
def test_a_wait_in_the_words_alone_is_kept(text: str, wait_s: float | None) -> None:
    error = from_status("X", 429, {}, text, now=NOW)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s == wait_s


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Resource exhausted", "details": [{"@type": "RetryInfo", "retryDelay": "44s"}]}},
        {"error": {"type": "usage_limit_reached", "message": "The limit has been reached", "resets_in_seconds": 44}},
        [{"error": {"message": "busy", "retry_after_seconds": "44"}}],
        {"error": "Model is loading", "estimated_time": 44.0},
        {"error": {"metadata": {"headers": {"X-RateLimit-Reset": f"{NOW.timestamp() + 44:.0f}000"}}, "message": "no"}},
    ],
)  # fmt: skip
def test_a_wait_in_a_field_of_the_body_is_kept(body: object) -> None:
    error = from_status("X", 429, {}, words_of(body), now=NOW)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s == 44


WORDS = "temperature is not supported by this model"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": WORDS}}, [{"error": {"code": 400, "message": WORDS, "status": "INVALID_ARGUMENT"}}],
        {"error": {"message": WORDS, "resets_in_seconds": 7421}},
        {"detail": [{"loc": ["body", "temperature"], "msg": WORDS}]},
        f"<html><head><style>b {{}}</style></head><body><p>{WORDS}</p></body></html>", json.dumps({"detail": WORDS}),
        {"error": {"message": "error", "metadata": {"raw": json.dumps({"error": {"message": WORDS}})}}},
        {"error": {"message": "error", "metadata": {"raw": WORDS}}},
    ],
)  # fmt: skip
def test_the_words_of_an_error_are_read_whatever_its_form(body: object) -> None:
    assert WORDS in words_of(body)
    assert "style" not in words_of(body)
    assert words_of({"error": {"message": "Extra input", "param": "top_k"}}) == "Extra input (top_k)"


def test_what_a_server_says_is_quoted_without_the_key_and_in_one_line() -> None:
    detail = quote("Incorrect key\n sk-abc-123456 \x1b[31m" + "x" * 1000, "sk-abc-123456")
    assert "sk-abc" not in detail
    assert "\x1b" not in detail
    assert len(detail) < 500


def test_a_time_of_day_is_read_by_the_servers_own_clock() -> None:
    headers = {"date": "Tue, 03 Mar 2026 08:00:00 GMT", "retry-after": "Tue, 03 Mar 2026 10:30:00 GMT"}
    for wrong in (NOW, datetime(2031, 1, 1, tzinfo=UTC)):
        error = from_status("X", 429, headers, "later", now=wrong)
        assert isinstance(error, ModelUnavailable)
        assert error.retry_after_s == 9000


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset", "date"]), st.text(max_size=30)
    )
)
def test_whatever_the_headers_say_a_wait_is_none_or_can_be_kept(headers: dict[str, str]) -> None:
    error = from_status("X", 429, headers, "later", now=NOW)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s is None or 0 <= error.retry_after_s <= 31 * 86400
