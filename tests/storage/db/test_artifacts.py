"""Long texts are stored once, under their digest."""

import hashlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightshift.storage.db import artifacts
from tests.support import tiers
from tests.support.store import Store


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=tiers.examples(30), deadline=None)
@given(st.text(st.characters()))
def test_a_text_comes_back_by_its_digest(store: Store, text: str) -> None:
    digest = store.db.write(lambda conn: artifacts.put(conn, text)).result()
    assert digest == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert store.steps.artifact(digest) == text


def test_the_same_text_is_stored_once_and_small(store: Store) -> None:
    text = "def f():\n    return 1\n" * 1000
    for _ in range(3):
        store.db.write(lambda conn: artifacts.put(conn, text)).result()
    rows = store.db.reader().execute("SELECT chars, LENGTH(body) FROM artifacts").fetchall()
    assert [row[0] for row in rows] == [len(text)]
    assert rows[0][1] < len(text) / 10
