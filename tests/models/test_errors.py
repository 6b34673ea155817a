"""Vendors' errors become ours: what may be tried again, and when."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable
from nightshift.models.errors import BackendMisconfigured, from_status, quote, retry_after_s

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:30 GMT"}, 90),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-reset-requests": "1h2m3s"}, 3723),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "9"}, None),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "9",
                "x-ratelimit-reset-tokens": "20s",
                "x-ratelimit-remaining-tokens": "0",
            },
            20,
        ),
        ({"anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:45Z"}, 45),
        ({"x-ratelimit-reset": str(int(NOW.timestamp()) + 60)}, 60),
        ({"x-ratelimit-reset": str(int(NOW.timestamp() * 1000) + 60_000)}, 60),
        ({"x-ratelimit-reset": "17"}, 17),
    ],
)
def test_the_wait_is_read_from_what_vendors_send(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers, NOW) == (wait_s if wait_s is None else pytest.approx(wait_s))


LATIN = st.text(st.characters(codec="latin-1"), max_size=30)
NUMBERS = st.text("0123456789.eE+-dhms", max_size=20)
NAMES = ["retry-after", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-tokens"]


@given(st.dictionaries(st.sampled_from(NAMES), LATIN | NUMBERS))
def test_no_header_breaks_the_reading(headers: dict[str, str]) -> None:
    wait_s = retry_after_s(headers, NOW)
    assert wait_s is None or wait_s >= 0


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelRefused), (413, ModelRefused), (422, ModelRefused), (401, BackendMisconfigured),
        (402, BackendMisconfigured), (403, BackendMisconfigured), (404, BackendMisconfigured),
        (408, ModelUnavailable), (409, ModelUnavailable), (425, ModelUnavailable), (429, ModelUnavailable),
        (500, ModelUnavailable), (503, ModelUnavailable), (529, ModelUnavailable),
    ],
)  # fmt: skip
def test_a_status_says_whether_to_try_again(status: int, kind: type[ModelError]) -> None:
    error = from_status("Vendor", status, {}, "said so", fix="Check the key")
    assert type(error) is kind
    assert "said so" in str(error)
    assert ("Check the key" in str(error)) == (kind is BackendMisconfigured)


def test_no_credit_left_is_a_matter_of_hours() -> None:
    error = from_status("OpenAI", 429, {"retry-after": "1"}, "insufficient_quota: you exceeded your quota")
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s == 3600
    assert "add some" in str(error)


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


@pytest.mark.parametrize(
    "headers", [{"retry-after": "1e15"}, {"retry-after": "2678401"}, {"x-ratelimit-reset": "9e20"}]
)
def test_more_than_a_month_is_nonsense(headers: dict[str, str]) -> None:
    assert retry_after_s(headers, NOW) is None


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset", "date"]), st.text(max_size=30)
    )
)
def test_whatever_the_headers_say_a_wait_is_none_or_can_be_kept(headers: dict[str, str]) -> None:
    error = from_status("X", 429, headers, "later", now=NOW)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after_s is None or 0 <= error.retry_after_s <= 31 * 86400
