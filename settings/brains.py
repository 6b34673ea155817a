"""Settings of models and budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from settings.values import Cost, Positive, PriceIn, Seconds


class BrainSettings(BaseSettings):
    """Which models are asked, how patiently, and for how much."""

    # Models.
    model_type: str = "auto"
    model_name: str | None = None
    phase_models: dict[str, str] = Field(default_factory=dict)
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
