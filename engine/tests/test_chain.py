"""The engine in the chain of backends: it is last by default, and otherwise at the position that the owner sets."""

from __future__ import annotations

from typing import Any

import pytest

from nightshift.app.acp import nowhere
from nightshift.core.errors import ConfigError
from nightshift.models.base import BackendSettings
from nightshift.models.chain import build_chain

BARE = BackendSettings()
ENGINE = BackendSettings(runs=nowhere)
WITH_ENGINE = BackendSettings(openai_api_key="sk-1", runs=nowhere)


def chain(settings: BackendSettings, **more: Any) -> list[str]:
    return [f"{backend.name}={backend.model}" for backend in build_chain(settings, **more)]


@pytest.mark.parametrize(
    ("settings", "more", "wanted"),
    [
        (WITH_ENGINE, {"model_name": "mistral"}, ["ollama=mistral", "openai=", "repair="]),
        (ENGINE, {"model_type": "repair", "model_name": "left-over"}, ["repair="]),
        (WITH_ENGINE, {"model_type": "repair,openai", "model_name": "a"}, ["repair=", "openai=a"]),
        (WITH_ENGINE, {"model_type": "openai,repair", "phase_models": {"CODING": "repair"}}, ["openai=", "repair="]),
    ],
)
def test_it_takes_part_where_there_is_a_sandbox(
    settings: BackendSettings, more: dict[str, Any], wanted: list[str]
) -> None:
    assert chain(settings, **more) == wanted


@pytest.mark.parametrize(
    ("settings", "more", "message"),
    [
        (WITH_ENGINE, {"model_type": "openai,repair", "model_name": "a,b"}, "more models than backends"),
        (ENGINE, {"model_type": "repair", "phase_models": {"REVIEW": "big"}}, "name the backend of 'big'"),
        (BARE, {"model_type": "repair"}, "repair is not configured: the built-in engine needs a sandbox"),
    ],
)
def test_what_cannot_be_is_said_with_its_mend(settings: BackendSettings, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chain(settings, **more)
