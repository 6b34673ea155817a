"""An external coding agent (ACP) that writes the code, configured from the settings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nightshift.app.acp import nowhere, prepare_agents
from nightshift.app.models import chain_of
from nightshift.config.load import Settings, load_settings
from nightshift.models.acp.agent import AgentPlace
from nightshift.models.acp.backend import AcpBackend
from nightshift.sandbox import bubblewrap, job_folders
from nightshift.verdict.environments.outbound import Endpoint
from tests.support.sandboxes import runtime

KEY = "key-of-the-agent-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", KEY)
    monkeypatch.setenv("AGENT_REGION", "eu")
    monkeypatch.setenv("ANOTHER_KEY", "not-for-the-agent-0123")


def settings(home: Path, **more: Any) -> Settings:
    return load_settings({"model_type": "acp", "acp_command": "true --acp 'a b'", **more}, home)


def make(acp_settings: Settings) -> AcpBackend:
    (backend,) = chain_of(acp_settings, nowhere)
    assert isinstance(backend, AcpBackend)
    return backend


def test_an_agent_gets_what_its_owner_set_and_no_more(tmp_path: Path) -> None:
    acp_settings = settings(
        tmp_path, acp_hosts=["api.Example.com", "localhost:8443"], model_timeout_s=600, acp_auth="key",
        acp_variables=["AGENT_KEY", "AGENT_REGION", "ABSENT"], model_name="acp=Helper",
    )  # fmt: skip
    backend = make(acp_settings)
    given = backend._settings
    assert backend.model == "Helper"
    assert given.command == ("true", "--acp", "a b")
    assert given.variables == {"AGENT_KEY": KEY, "AGENT_REGION": "eu"}
    named = (Endpoint("api.example.com", 443),)
    assert given.hosts == (*named, Endpoint("localhost", 8443))
    assert (given.turn_s, given.auth_method) == (570, "key")
    assert KEY in acp_settings.secrets, "what an agent says is shown without its key"
    assert "eu" not in acp_settings.secrets


def test_a_key_of_nightshift_s_own_is_given_where_it_is_named(tmp_path: Path) -> None:
    assert make(settings(tmp_path, openai_api_key=KEY))._settings.variables == {}
    named = settings(tmp_path, openai_api_key=KEY, acp_variables=["OPENAI_API_KEY"])
    assert make(named)._settings.variables == {"OPENAI_API_KEY": KEY}


def test_without_the_strong_sandbox_no_agent_is_started(tmp_path: Path) -> None:
    reason = prepare_agents(settings(tmp_path), runtime(), "process")
    assert isinstance(reason, str)
    assert "bubblewrap" in reason
    backend = make(settings(tmp_path))
    assert not backend.is_available()
    assert backend.detail == nowhere()


async def test_copies_that_a_dead_daemon_left_are_removed(tmp_path: Path) -> None:
    acp_settings = settings(tmp_path)
    left = job_folders.private(acp_settings.state_dir / "agents") / "run-of-the-dead"
    (left / "work").mkdir(parents=True)
    where = await asyncio.to_thread(prepare_agents, acp_settings, runtime(), bubblewrap.NAME)
    assert isinstance(where, AgentPlace)
    assert not left.exists()
    assert where.folder == left.parent
