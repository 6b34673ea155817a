"""The doctor's report on the hub: whether it answers and fits, and whether others can read along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from nightshift.app.doctor.context import CheckContext, Finding, Grade, check_context
from nightshift.app.doctor.hub import address, check_hub, judged
from nightshift.remote.hub.access import Access
from nightshift.remote.hub.migrations import steps
from tests.support.postgres import EMBEDDED, PostgresServer, free_port, hub


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    with PostgresServer(EMBEDDED, tmp_path_factory.mktemp("postgres")) as started:
        yield started


@pytest.fixture
def context(tmp_path: Path) -> CheckContext:
    return check_context(tmp_path / "home")


def find(context: CheckContext, url: str | None) -> list[Finding]:
    address = None if url is None else SecretStr(url)
    return list(check_hub(replace(context, settings=context.settings.model_copy(update={"hub_url": address}))))


def test_a_machine_that_works_alone_is_fine(context: CheckContext) -> None:
    (alone,) = find(context, None)
    assert (alone.grade, "works alone" in alone.text) == (Grade.OK, True)


def test_a_hub_that_answers_and_fits_is_fine_and_the_owners_rights_are_more_than_needed(
    context: CheckContext, server: PostgresServer
) -> None:
    url = server.database()
    with hub(url), psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE ROLE guest LOGIN")
        owner.execute("GRANT nightshift_node TO guest")
        as_owner, as_guest = find(context, url), find(context, url.replace("owner@", "guest@"))
    assert [(one.grade, one.what) for one in as_owner] == [
        (Grade.OK, "hub"), (Grade.OK, "TLS"), (Grade.NOTE, "rights"), (Grade.NOTE, "address")
    ]  # fmt: skip
    assert f"version {max(steps())} of its schema" in as_owner[0].text
    assert [one.what for one in as_guest] == ["hub", "TLS", "address"]


def test_a_database_without_a_schema_is_a_fault_that_names_the_command(
    context: CheckContext, server: PostgresServer
) -> None:
    (fault,) = find(context, server.database())
    assert (fault.grade, "hub init" in fault.mend) == (Grade.FAULT, True)


def test_a_hub_that_is_away_is_a_warning_without_its_password(context: CheckContext) -> None:
    (away,) = find(context, f"postgresql://me:topsecret@127.0.0.1:{free_port()}/none")
    assert (away.grade, away.what) == (Grade.WARNING, "hub")
    assert "topsecret" not in str(away)


@pytest.mark.parametrize(
    ("address", "is_encrypted", "sslmode", "grade"),
    [
        ("", False, "prefer", Grade.OK),
        ("127.0.0.1", False, "prefer", Grade.OK),
        ("::1", False, "prefer", Grade.OK),
        ("10.0.0.7", False, "prefer", Grade.FAULT),
        ("10.0.0.7", True, "prefer", Grade.WARNING),
        ("10.0.0.7", True, "require", Grade.WARNING),
        ("10.0.0.7", True, "verify-full", Grade.OK),
        ("fe80::7", False, "disable", Grade.FAULT),
    ],
)
def test_another_machine_must_be_reached_over_tls(address: str, is_encrypted: bool, sslmode: str, grade: Grade) -> None:
    way = Access(address=address, is_encrypted=is_encrypted, sslmode=sslmode, may_alter=False)
    assert [one.grade for one in judged(way)] == [grade]


@pytest.mark.parametrize(
    ("listens", "said", "notes"),
    [("127.0.0.1", "", 1), ("0.0.0.0", "", 1), ("10.0.0.7", "", 0), ("127.0.0.1", "https://a.example", 0)],
)
def test_an_address_that_leads_no_other_node_here_is_noted(
    context: CheckContext, listens: str, said: str, notes: int
) -> None:
    settings = context.settings.model_copy(update={"flask_host": listens, "node_url": said})
    assert len(list(address(settings))) == notes
