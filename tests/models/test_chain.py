"""The chain of backends that the settings produce."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import ConfigError
from nightshift.core.tasks.states import Phase
from nightshift.models.base import BackendSettings
from nightshift.models.chain import build_chain, phase_routes

BARE = BackendSettings()
KEY = BackendSettings(openai_api_key="sk-1234567890")
GOOGLE = BackendSettings(gemini_api_key="g-1234567890")
LOCAL = BackendSettings(openai_base_url="http://127.0.0.1:8000/v1")
ALL = BackendSettings(openai_api_key="sk-1", anthropic_api_key="sk-2", gpt4all_model_path=Path("/models/tiny.gguf"))
OWN = BackendSettings(llama_cpp_model_path=Path("/models/own.gguf"))
BOTH = BackendSettings(gpt4all_model_path=Path("/models/tiny.gguf"), llama_cpp_model_path=Path("/models/own.gguf"))


def chain(settings: BackendSettings, **more: Any) -> list[str]:
    return [f"{backend.name}={backend.model}" for backend in build_chain(settings, **more)]


@pytest.mark.parametrize(
    ("settings", "more", "wanted"),
    [
        (BARE, {}, ["ollama="]),
        (KEY, {}, ["openai=", "ollama="]),
        (ALL, {}, ["openai=", "anthropic=", "ollama=", "gpt4all=tiny.gguf", "llama_cpp=tiny.gguf"]),
        (
            ALL,
            {"model_name": "claude-sonnet-5"},
            ["anthropic=claude-sonnet-5", "openai=", "ollama=", "gpt4all=tiny.gguf", "llama_cpp=tiny.gguf"],
        ),
        (GOOGLE, {"model_name": "gemini-3-pro"}, ["gemini=gemini-3-pro", "ollama="]),
        (KEY, {"model_name": "mistral"}, ["ollama=mistral", "openai="]),
        (LOCAL, {"model_name": "mistral"}, ["openai=mistral", "ollama=mistral"]),
        (KEY, {"model_type": "openai", "model_name": "openai=big,openai=small"}, ["openai=big", "openai=small"]),
        (KEY, {"model_name": "gpt-5,gpt-5-mini,gpt-5"}, ["openai=gpt-5", "openai=gpt-5-mini", "ollama="]),
        (
            KEY,
            {"model_type": "ollama,openai", "model_name": "openai=big,ollama=own,openai=small"},
            ["ollama=own", "openai=big", "openai=small"],
        ),
        (KEY, {"model_type": "openai", "model_name": "openai/gpt-oss-20b"}, ["openai=openai/gpt-oss-20b"]),
        (KEY, {"model_type": "Ollama, openai", "model_name": "a, b"}, ["ollama=a", "openai=b"]),
        (ALL, {"model_type": "gpt4all"}, ["gpt4all=tiny.gguf", "llama_cpp=tiny.gguf"]),
        (ALL, {"model_type": "llama_cpp,gpt4all"}, ["llama_cpp=tiny.gguf", "gpt4all=tiny.gguf"]),
        (OWN, {"model_name": "own.gguf"}, ["llama_cpp=own.gguf", "ollama="]),
        (BOTH, {}, ["ollama=", "gpt4all=tiny.gguf", "llama_cpp=tiny.gguf", "llama_cpp=own.gguf"]),
        (KEY, {"model_type": "openai", "phase_models": {"REVIEW": "big", "AUDIT": "big"}}, ["openai=", "openai=big"]),
    ],
)
def test_settings_make_a_chain(settings: BackendSettings, more: dict[str, Any], wanted: list[str]) -> None:
    assert chain(settings, **more) == wanted


@pytest.mark.parametrize(
    ("settings", "more", "message"),
    [
        (BARE, {"model_type": "openai"}, "OPENAI_API_KEY"),
        (BARE, {"model_type": "bard"}, "unknown backend 'bard'"),
        (BARE, {"model_type": "ollama", "model_name": "a,b"}, "more models than backends"),
        (BARE, {"phase_models": {"REVIEW": "anthropic=x"}}, "ANTHROPIC_API_KEY"),
    ],
)
def test_what_cannot_be_is_said_with_its_mend(settings: BackendSettings, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chain(settings, **more)


def test_phases_are_checked() -> None:
    assert phase_routes({"review": "a", "CODING": "b"}) == {Phase.REVIEW: "a", Phase.CODING: "b"}
    with pytest.raises(ConfigError, match="'COMMIT' is not a phase"):
        phase_routes({"COMMIT": "a"})


def test_no_vendor_is_loaded_before_it_is_asked() -> None:
    code = (
        "import sys, nightshift.models.gateway; from nightshift.models.base import BackendSettings;"
        "from nightshift.models.chain import build_chain;"
        "build_chain(BackendSettings(openai_api_key='k', anthropic_api_key='k', gemini_api_key='k'));"
        "heavy = {'openai', 'anthropic', 'ollama', 'pydantic_ai', 'google', 'gpt4all', 'xllamacpp', 'httpx', 'httpx2'};"
        "heavy |= {'pydantic', 'jinja2'};"
        "print(heavy & set(sys.modules))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_keys_show_in_no_repr() -> None:
    assert "sk-" not in repr(ALL)
    assert "sk-" not in repr(build_chain(ALL))


def test_a_folder_of_models_is_searched_for_the_named_one(tmp_path: Path) -> None:
    for name in ("qwen2.5-coder-7b.gguf", "a-chat.gguf", "readme.txt"):
        (tmp_path / name).write_bytes(b"GGUF")
    folder = BackendSettings(gpt4all_model_path=tmp_path)
    named = ["gpt4all=a-chat.gguf", "llama_cpp=a-chat.gguf"]
    assert chain(folder, model_type="gpt4all", model_name="a-chat.gguf") == named
    assert chain(folder, model_type="gpt4all", model_name="a-chat") == named
    assert chain(folder, model_type="gpt4all") == [
        "gpt4all=qwen2.5-coder-7b.gguf",
        "llama_cpp=qwen2.5-coder-7b.gguf",
    ]
    assert chain(folder, model_type="llama_cpp", model_name="a-chat") == ["llama_cpp=a-chat.gguf"]
