"""The environments of repositories at the terminal, without a daemon."""

from __future__ import annotations

import asyncio
import json

from nightshift.config.load import load_settings
from nightshift.core.clock import utc_now
from nightshift.verdict.environments.store import FolderStore
from tests.support.home import Home


def test_what_is_kept_is_listed_with_what_was_left_out(home: Home) -> None:
    assert home.cli("--environments").out == "no environment was made yet\n"
    store = FolderStore(load_settings(home=home.path).environments_dir, keep_mb=10, clock=utc_now)
    note = {
        "kind": "python", "sources": ["uv.lock"], "packages": {"moonphase": "1.0"},
        "remarks": ["tidewave has no wheel; it is left out"], "more": {"interpreter": "Python 3.11.2"},
    }  # fmt: skip
    store.path("python-1").mkdir()
    asyncio.run(store.write("python-1", note))
    asyncio.run(store.write("own-1", {"of": []}))
    out = home.cli("--environments").out
    assert all(word in out for word in ("python-1", "Python 3.11.2", "uv.lock", "tidewave has no wheel"))
    assert "own-1" not in out
    (row,) = json.loads(home.cli("--environments", "--json").out)["environments"]
    assert row["packages"] == {"moonphase": "1.0"}
