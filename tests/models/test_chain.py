"""The chain of backends that the settings produce."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import ConfigError
from nightshift.core.tasks.states import Phase
from nightshift.models import backend_class, backends
from nightshift.models.base import BackendSettings
from nightshift.models.chain import build_chain, how_to_get_one, phase_routes

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
        (BARE, {"model_name": "qwen2.5-coder:7b"}, ["ollama=qwen2.5-coder:7b"]),
        (
            ALL,
            {"model_name": "claude-sonnet-5"},
            ["anthropic=claude-sonnet-5", "openai=", "ollama=", "gpt4all=tiny.gguf", "llama_cpp=tiny.gguf"],
        ),
        (KEY, {"model_name": "gpt-5-mini"}, ["openai=gpt-5-mini", "ollama="]),
        (GOOGLE, {"model_name": "gemini-3-pro"}, ["gemini=gemini-3-pro", "ollama="]),
        (KEY, {"model_name": "mistral"}, ["ollama=mistral", "openai="]),
        (LOCAL, {"model_name": "mistral"}, ["openai=mistral", "ollama=mistral"]),
        (KEY, {"model_name": "ollama=a:7b,openai=b"}, ["openai=b", "ollama=a:7b"]),
        (KEY, {"model_type": "openai", "model_name": "openai=big,openai=small"}, ["openai=big", "openai=small"]),
        (KEY, {"model_name": "gpt-5,gpt-5-mini,gpt-5"}, ["openai=gpt-5", "openai=gpt-5-mini", "ollama="]),
        (KEY, {"model_type": "openai,openai", "model_name": "big,small"}, ["openai=big", "openai=small"]),
        (
            KEY,
            {"model_type": "ollama,openai", "model_name": "openai=big,ollama=own,openai=small"},
            ["ollama=own", "openai=big", "openai=small"],
        ),
        (KEY, {"model_type": "openai", "model_name": "openai/gpt-oss-20b"}, ["openai=openai/gpt-oss-20b"]),
        (KEY, {"model_type": "Ollama, openai", "model_name": "a, b"}, ["ollama=a", "openai=b"]),
        (KEY, {"model_type": "ollama,openai", "model_name": "ollama=a,b"}, ["ollama=a", "openai=b"]),
        (KEY, {"model_type": "ollama,openai", "model_name": "a"}, ["ollama=a", "openai="]),
        (ALL, {"model_type": "gpt4all"}, ["gpt4all=tiny.gguf", "llama_cpp=tiny.gguf"]),
        (ALL, {"model_type": "llama_cpp"}, ["llama_cpp=tiny.gguf"]),
        (ALL, {"model_type": "llama_cpp,gpt4all"}, ["llama_cpp=tiny.gguf", "gpt4all=tiny.gguf"]),
        (OWN, {}, ["ollama=", "llama_cpp=own.gguf"]),
        (OWN, {"model_name": "own.gguf"}, ["llama_cpp=own.gguf", "ollama="]),
        (BOTH, {}, ["ollama=", "gpt4all=tiny.gguf", "llama_cpp=tiny.gguf", "llama_cpp=own.gguf"]),
        (KEY, {"model_type": "openai", "phase_models": {"REVIEW": "openai=big"}}, ["openai=", "openai=big"]),
        (KEY, {"model_type": "openai", "phase_models": {"REVIEW": "big", "AUDIT": "big"}}, ["openai=", "openai=big"]),
        (KEY, {"model_type": "ollama", "phase_models": {"REVIEW": "ollama"}}, ["ollama="]),
    ],
)
def test_settings_make_a_chain(settings: BackendSettings, more: dict[str, Any], wanted: list[str]) -> None:
    assert chain(settings, **more) == wanted


@pytest.mark.parametrize(
    ("settings", "more", "message"),
    [
        (BARE, {"model_type": "openai"}, "OPENAI_API_KEY"),
        (BARE, {"model_type": "anthropic,gpt4all"}, "ANTHROPIC_API_KEY"),
        (BARE, {"model_type": "bard"}, "unknown backend 'bard'"),
        (BARE, {"model_name": "bard=x"}, "unknown backend 'bard'"),
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


def test_a_backend_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "gone-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[nightshift.backends]\ngone = gone_module:Backend\n")
    monkeypatch.syspath_prepend(tmp_path)
    backends.cache_clear()
    try:
        with pytest.raises(ConfigError, match=r"gone \(gone_module:Backend\) cannot be loaded: No module named"):
            chain(BARE, model_type="gone")
    finally:
        monkeypatch.undo()
        backends.cache_clear()


def test_where_nothing_is_installed_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "nightshift").symlink_to(Path(__file__).parents[2] / "nightshift")
    argv = [sys.executable, "-S", "-c", "from nightshift.models import backends\nbackends()"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "no backend is installed in" in done.stderr


def test_every_backend_of_the_registry_loads_under_its_own_name() -> None:
    assert [backend_class(name).name for name in backends()] == list(backends())


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


def test_the_hint_for_an_owner_without_a_model_names_every_way() -> None:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    for word in ("ollama pull", *keys, "GPT4ALL_MODEL_PATH", "LLAMA_CPP_MODEL_PATH"):
        assert word in how_to_get_one()
    assert "built in" not in how_to_get_one(), "the engine is no way to get a model"


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
