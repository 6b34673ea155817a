"""The real daemon follows its own OpenAPI document for any input; schemathesis generates the requests.

For 100 times as many requests: `NIGHTSHIFT_TESTS_EXAMPLES=500 … -m pytest tests/e2e/test_api_contract.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.seeded_home import SeededDaemon, share, start

EXAMPLES = os.environ.get("NIGHTSHIFT_TESTS_EXAMPLES", "4")
LEFT_OUT = "positive_data_acceptance"
"""The skipped check of schemathesis. It rejects a documented 400 for rules between fields, which no schema states."""
CONFIGURED = """[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx"]
"""
"""The statuses that schemathesis expects of a refusal, plus 413 for a list that is too large."""


@pytest.fixture
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededDaemon]:
    snapshot = share(tmp_path_factory).copied(tmp_path_factory.mktemp("contract") / "snapshot")
    with start(snapshot, WORKER_COUNT="1") as (daemon, server):
        yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


def test_no_request_makes_the_api_break_its_own_document(seeded: SeededDaemon, tmp_path: Path) -> None:
    seeded.daemon.ask("POST", "/api/pause")
    (tmp_path / "schemathesis.toml").write_text(CONFIGURED)
    argv = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{seeded.url}/api/openapi.json", "--max-examples", EXAMPLES,
        "--seed", "1", "--generation-deterministic", "--exclude-checks", LEFT_OUT,
        "--exclude-operation-id", "stream_logs",  # this stream never ends, and has its own tests
        "--request-timeout", "300", "--suppress-health-check", "all", "--no-color",
    ]  # fmt: skip
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr + seeded.daemon.output()[-5000:]
    assert "Tested:" in done.stdout
    assert seeded.daemon.get("/healthz")["status"] == "ok"
