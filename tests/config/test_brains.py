"""Settings of models: unusable values are rejected with a message that says how to fix them."""

from __future__ import annotations

from pathlib import Path

import hypothesis as h
import pytest
from hypothesis import strategies as st

from nightshift.config.load import load_settings
from nightshift.config.models import LEAST_PROMPT
from nightshift.core.errors import ConfigError
from tests.support import tiers


@pytest.mark.parametrize(
    ("given", "mends"),
    [
        ({"model_num_ctx": 4096, "model_max_tokens": 4000}, ("MODEL_MAX_TOKENS to 1096", "MODEL_NUM_CTX to 7000")),
        ({"call_tokens": 3999}, ("CALL_TOKENS to 4000 or more",)),
    ],
)
def test_settings_that_leave_no_room_for_a_prompt_are_refused_with_the_mend(
    tmp_path: Path, given: dict[str, int], mends: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(given, tmp_path)
    assert all(mend in str(caught.value) for mend in mends)


@h.given(st.integers(2048, 300_000), st.integers(1, 300_000), st.none() | st.integers(1, 300_000))
@h.settings(max_examples=tiers.examples(60), deadline=None)
def test_a_prompt_and_a_reply_fit_the_context_and_what_a_call_may_use(
    num_ctx: int, max_tokens: int, call_tokens: int | None
) -> None:
    given = {"model_num_ctx": num_ctx, "model_max_tokens": max_tokens, "call_tokens": call_tokens}
    try:
        read = load_settings(given, Path("/nonexistent"))
    except ConfigError:
        return
    assert LEAST_PROMPT <= read.prompt_tokens <= 24_000
    assert read.prompt_tokens + max_tokens <= num_ctx
    assert call_tokens is None or read.prompt_tokens < call_tokens
