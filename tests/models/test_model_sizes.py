"""The size of a model is read from its name, or from its server's list."""

from __future__ import annotations

import pytest

from nightshift.core.gauge import ModelClass, ModelProfile
from nightshift.models.model_table import parameters_by_name, read_parameters


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("qwen2.5-coder:1.5b", 1.5), ("qwen3.6:35b-a3b", 35.0), ("gemma-3n-E4B-it", 4.0),
        ("mixtral-8x7b-instruct", 56.0), ("GLM-4.5-Air-106B-A12B", 106.0), ("gpt-4o", None), ("", None),
    ],
)  # fmt: skip
def test_a_name_tells_the_size(name: str, billions: float | None) -> None:
    assert parameters_by_name(name) == billions


@pytest.mark.parametrize(
    ("row", "billions"),
    [
        ({"id": "m.gguf", "meta": {"n_params": 1_543_714_304}}, 1.543714304),
        ({"name": "coder:latest", "details": {"parameter_size": "7.6B"}}, 7.6),
        ({"details": {"parameter_size": ""}}, None), ({"meta": {"n_params": True}}, None), ({}, None),
    ],
)  # fmt: skip
def test_a_server_lists_the_size(row: dict[str, object], billions: float | None) -> None:
    assert read_parameters(row) == (None if billions is None else pytest.approx(billions))


def test_small_models_and_those_that_fail_with_the_usual_forms_are_asked_in_plain_words() -> None:
    assert not ModelProfile().is_plain
    assert not ModelProfile(size=ModelClass.MEDIUM).is_plain
    assert ModelProfile(size=ModelClass.SMALL).is_plain
    assert ModelProfile(size=ModelClass.LARGEST, fails_usual_forms=True).is_plain
