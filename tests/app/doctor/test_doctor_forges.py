"""The doctor's report on connections to forges: settings, token, remote, and whether the forge answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from nightshift.app.doctor.context import CheckContext, Finding, Grade, check_context
from nightshift.app.doctor.forges import check_forges
from tests.support.forges.github_api import GitHubApi
from tests.support.forges.server import TOKEN, ForgeServer
from tests.support.forges.world import World
from tests.support.git_repo import git, make_repo


@pytest.fixture
def server() -> Iterator[ForgeServer]:
    with ForgeServer(GitHubApi(World())) as running:
        yield running


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = make_repo(tmp_path / "hello")
    git(path, "remote", "add", "origin", "https://example.org/hello.git")
    return path


@pytest.fixture
def context(tmp_path: Path, server: ForgeServer, repo: Path, monkeypatch: pytest.MonkeyPatch) -> CheckContext:
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    values = {
        "forges": {f"{server.site}/octo/hello": str(repo)},
        "forge_kinds": {server.site.partition("://")[2]: "github"},
        "github_token": SecretStr(TOKEN),
    }
    return with_settings(check_context(tmp_path / "home"), **values)


def with_settings(context: CheckContext, **values: object) -> CheckContext:
    return replace(context, settings=context.settings.model_copy(update=values))


def check_connection(context: CheckContext) -> Finding:
    (finding,) = check_forges(context)
    return finding


def test_a_connection_that_answers_is_fine_and_so_is_none(context: CheckContext) -> None:
    finding = check_connection(context)
    assert (finding.grade, finding.text) == (Grade.OK, "it answers; its default branch is main")
    assert check_connection(with_settings(context, forges={})).text == "none is followed"


def test_a_missing_token_is_a_fault_that_names_the_variable(context: CheckContext, server: ForgeServer) -> None:
    finding = check_connection(with_settings(context, github_token=None))
    assert (finding.grade, finding.text) == (Grade.FAULT, "there is no token for it")
    assert "GITHUB_TOKEN" in finding.mend
    assert server.seen == []


def test_a_token_that_is_refused_is_told_without_the_token(context: CheckContext, server: ForgeServer) -> None:
    server.fail_next(403, body={"message": f"no rights for {TOKEN}"})
    finding = check_connection(context)
    assert finding.grade is Grade.WARNING
    assert "no rights for ***" in finding.text
    assert TOKEN not in f"{finding}"
