"""Settings of models and budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from settings.values import Cost, Positive, PriceIn, Seconds

LONGEST_PROMPT = 24_000
LEAST_PROMPT = 1_024
"""Tokens; with less room the task itself would not fit."""


class BrainSettings(BaseSettings):
    """Which models are asked, how patiently, and for how much."""

    # Models.
    model_type: str = "auto"
    model_name: str | None = None
    phase_models: dict[str, str] = Field(default_factory=dict)
    routing: Literal["fixed", "measured"] = "fixed"
    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    anthropic_api_key: SecretStr | None = None
    anthropic_base_url: str | None = None
    ollama_base_url: str = "http://localhost:11434"
    gpt4all_model_path: Path | None = None
    model_num_ctx: Annotated[int, Field(ge=2048)] = 32768
    model_max_tokens: Positive = 8192
    model_timeout_s: Seconds = 900
    model_max_wait_s: Seconds = 60
    model_prices: dict[str, PriceIn] = Field(default_factory=dict)
    model_probe_s: Seconds = 30
    repair_s: Seconds = 60
    repair_first_s: Annotated[float, Field(ge=0)] = 10
    edit_format: Literal["auto", "whole", "edit"] = "auto"

    # Budgets; None is unlimited.
    call_tokens: Positive | None = None
    call_cost_usd: Cost | None = None
    task_model_calls: Positive | None = None
    task_tokens: Positive | None = None
    task_cost_usd: Cost | None = None
    day_tokens: Positive | None = None
    day_cost_usd: Cost | None = None
    total_tokens: Positive | None = None
    total_cost_usd: Cost | None = None

    @property
    def prompt_tokens(self) -> int:
        """How long a prompt may be: what the context leaves beside a reply, and three quarters of what a call may use.

        Longer prompts than `LONGEST_PROMPT` cost more than they help.
        """
        of_call = LONGEST_PROMPT if self.call_tokens is None else self.call_tokens * 3 // 4
        return min(LONGEST_PROMPT, self.model_num_ctx - self.model_max_tokens, of_call)

    @model_validator(mode="after")
    def _room_for_a_prompt(self) -> BrainSettings:
        context, reply = self.model_num_ctx, self.model_max_tokens
        if context - reply < LEAST_PROMPT:
            raise ValueError(
                f"model_max_tokens: replies of up to {reply} tokens (MODEL_MAX_TOKENS) leave no room for a prompt in a "
                f"context of {context} (MODEL_NUM_CTX); set MODEL_MAX_TOKENS to {context - LEAST_PROMPT} or less, or "
                f"MODEL_NUM_CTX to {reply + LEAST_PROMPT} or more"
            )
        if self.call_tokens is not None and self.prompt_tokens < LEAST_PROMPT:
            least = -(-LEAST_PROMPT * 4 // 3)
            raise ValueError(
                f"call_tokens: {self.call_tokens} are too few for a prompt and a reply; set CALL_TOKENS to "
                f"{least} or more"
            )
        return self
