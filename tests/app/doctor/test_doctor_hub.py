"""The doctor's report on the hub: whether it answers, has a matching schema, and has a safe connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from nightshift.app.doctor.context import CheckContext, Finding, Grade, check_context
from nightshift.app.doctor.hub import check_hub, judged
from nightshift.remote.hub.access import Access
from tests.support.daemon import until
from tests.support.light_node import light_node
from tests.support.postgres import free_port
from tests.support.temporal import TemporalServer, needs_server


@pytest.fixture(scope="module")
def server() -> Iterator[TemporalServer]:
    with TemporalServer(namespaces=4) as started:
        yield started


@pytest.fixture
def context(tmp_path: Path) -> CheckContext:
    return check_context(tmp_path / "home")


def examine_hub(context: CheckContext, url: str | None, database: str | None = None) -> list[Finding]:
    named = {"hub_url": url, "hub_database_url": database and SecretStr(database)}
    return list(check_hub(replace(context, settings=context.settings.model_copy(update=named))))


@needs_server
def test_a_hub_that_answers_is_fine_and_nodes_of_several_versions_are_not(
    context: CheckContext, server: TemporalServer
) -> None:
    url = server.ready()
    with light_node(url, "a", version="1"):
        assert [(finding.grade, finding.what) for finding in examine_hub(context, url)] == [
            (Grade.OK, "hub"),
            (Grade.NOTE, "address"),
        ]
        with light_node(url, "b", version="2"):
            until(lambda: [finding.what for finding in examine_hub(context, url)] == ["hub", "versions", "address"])


def test_a_hub_that_is_away_is_a_warning(context: CheckContext) -> None:
    (away,) = examine_hub(context, f"temporal://127.0.0.1:{free_port()}/none")
    assert (away.grade, away.what) == (Grade.WARNING, "hub")
    assert "refused" in away.text
    assert "Error(" not in away.text, "the words of the system, without the types that wrap them"


@pytest.mark.parametrize(
    ("address", "is_encrypted", "sslmode", "grade"),
    [
        ("", False, "prefer", Grade.OK),
        ("::1", False, "prefer", Grade.OK),
        ("10.0.0.7", False, "prefer", Grade.FAULT),
        ("10.0.0.7", True, "prefer", Grade.WARNING),
        ("10.0.0.7", True, "verify-full", Grade.OK),
    ],
)
def test_another_machine_must_be_reached_over_tls(address: str, is_encrypted: bool, sslmode: str, grade: Grade) -> None:
    way = Access(address=address, is_encrypted=is_encrypted, sslmode=sslmode, may_alter=False)
    assert [finding.grade for finding in judged(way)] == [grade]
