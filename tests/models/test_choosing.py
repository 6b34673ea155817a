"""The choice of a model by family, age and size if the owner names none, and the table of recommended models."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.models.model_table import ADVICE, choose, strength

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("offered", "taken"),
    [
        (["qwen3.6:35b-a3b", "gemma4:26b", "qwen2.5-coder:1.5b"], "qwen3.6:35b-a3b"),
        (["qwen3.8:27b", "devstral:24b", "deepseek-coder:1.3b"], "qwen3.8:27b"),
        (["qwen2.5-coder:32b", "qwen3.5:9b"], "qwen3.5:9b"),
        (["llama3:8b", "qwen2.5-coder:7b", "nomic-embed-text"], "qwen2.5-coder:7b"),
        (["gpt-oss:20b", "gpt-oss:120b"], "gpt-oss:120b"), (["bge-m3", "qwen3-embedding:8b"], None), ([], None),
    ],
)  # fmt: skip
def test_size_age_and_family_decide_and_not_the_word_coder(offered: list[str], taken: str | None) -> None:
    assert choose(offered) == taken
    assert choose(offered[::-1]) == taken


def test_what_an_owner_prefers_of_a_vendors_list_goes_first() -> None:
    assert choose(["gpt-6", "gpt-5.4-mini"], (r"-mini$",)) == "gpt-5.4-mini"


def test_the_recommendations_stand_in_the_manual_and_grow_with_the_memory() -> None:
    manual = (ROOT / "docs/manual/models.md").read_text()
    for each in ADVICE:
        assert f"| {each.memory_gb} GB | `{each.model}` |" in manual
    assert [each.memory_gb for each in ADVICE] == [8, 16, 24, 48]
    assert all(strength(each.model) > strength("qwen2.5-coder:7b") for each in ADVICE)
