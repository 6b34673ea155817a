"""A new model is tried before it gets work, and a change of the agent before it stays."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from nightshift.client.errors import Exit
from nightshift.config.load import settings_at
from nightshift.config.places import find_places
from nightshift.report.benchmark.version import version
from tests.support import benchmark_shop
from tests.support.daemon import Daemon, settings_for
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer


def bench(home: Daemon, *words: str) -> tuple[int, Any]:
    """The exit code of a command, and its answer as JSON."""
    done = home.cli("bench", *words, "--json", within_s=600)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def made_earlier(home: Daemon) -> None:
    """Let all results be those of an earlier version of the agent."""
    path = settings_at(find_places(home.home)).benchmark_db_path
    with closing(sqlite3.connect(path)) as db, db:
        (count,) = db.execute("SELECT count(*) FROM results WHERE version = ?", (version(),)).fetchone()
        assert count == 3
        db.execute("UPDATE results SET version = 'earlier000'")


def test_a_model_is_tried_and_after_a_change_of_the_agent_again(tmp_path: Path) -> None:
    runtime()  # the command takes it as it is
    repo, forgets = str(benchmark_shop.shop(tmp_path / "shop")), list[bool]()

    def answer(phase: str, messages: list[dict[str, Any]]) -> str:
        return "I would rather not." if forgets and phase == "CODING" else benchmark_shop.answer(phase, messages)

    with WireServer(answer, models=["able", "shy"]) as server:
        home = Daemon(tmp_path / "home", settings_for(server, MAX_ITERATIONS="2"))
        home.home.mkdir()
        assert bench(home, "mine", repo)[0] == Exit.OK
        code, said = bench(home, "smoke", repo, "openai=able")
        assert (code, said["fit"], said["solved"], said["items"], said["unreadable"]) == (Exit.OK, True, 2, 3, 0)

        code, said = bench(home, "gate", repo)
        assert code == Exit.FAILED
        assert "all results are of today's version" in str(said)
        made_earlier(home)
        code, said = bench(home, "gate", repo)
        assert (code, said["before"], said["passes"]) == (Exit.OK, "earlier000", True)
        assert [(one["before"], one["after"]) for one in said["arms"]] == [(2, 2)]

        asked = len(server.requests)
        assert bench(home, "gate", repo, "--margin", "10")[0] == Exit.FAILED, (
            "three items exclude no loss of ten points"
        )
        assert len(server.requests) == asked, "what was tried with today's version is not tried again"
        code, said = bench(home, "gate", repo, "--before", "nobody")
        assert (code, "of: earlier000" in str(said)) == (Exit.FAILED, True)

        forgets.append(True)
        code, said = bench(home, "smoke", repo, "openai=shy", "--items", "1")
        assert (code, said["fit"], said["unreadable"]) == (Exit.FAILED, False, 1)
