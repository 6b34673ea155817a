"""What the daemon says at its start, by what it found."""

from __future__ import annotations

from pathlib import Path

from bootstrap.greeting import greeting
from bootstrap.web import entrance
from config import load_settings
from core.states import DaemonState
from core.status import DaemonStatus, ModelStatus

OLLAMA = ModelStatus(name="ollama", model="small", available=False, detail="does not answer")
ENGINE = ModelStatus(name="repair", model="", available=True)


def said(*models: ModelStatus) -> str:
    status = DaemonStatus(state=DaemonState.RUNNING, uptime_s=1.0, version="1", models=models, sandbox="bubblewrap")
    return greeting(status, "http://127.0.0.1:5000")


def test_without_a_model_the_engine_says_what_it_can_do_and_how_to_get_a_model() -> None:
    text = said(OLLAMA, ENGINE)
    assert "the built-in engine works alone" in text
    assert "mends Python code" in text
    assert "  model      repair: answers\n" in text
    assert "ollama pull" in text
    assert "OPENAI_API_KEY" in text


def test_it_says_what_visitors_are_asked_for(tmp_path: Path) -> None:
    status = DaemonStatus(state=DaemonState.RUNNING, uptime_s=1.0, version="1", sandbox="bubblewrap")
    set_by_owner = load_settings({"api_token": "correct-horse"}, home=tmp_path)
    made_by_daemon = load_settings({"sandbox": "process"}, home=tmp_path)
    assert "API_TOKEN" in greeting(status, "http://127.0.0.1:5000", entrance=entrance(set_by_owner))
    assert "correct-horse" not in entrance(set_by_owner)
    assert str(tmp_path / "state" / "token") in entrance(made_by_daemon)
    assert entrance(load_settings(home=tmp_path)) == ""


def test_without_engine_and_model_tasks_wait() -> None:
    text = said(OLLAMA)
    assert "Tasks wait until one does" in text
    assert "built-in engine" not in text
    assert "ollama pull" in text


def test_with_a_model_nothing_is_explained() -> None:
    there = ModelStatus(name="ollama", model="small", available=True)
    assert "ollama pull" not in said(there, ENGINE)
