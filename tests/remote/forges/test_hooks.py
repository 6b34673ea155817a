"""Webhooks are only hints: a request with the right signature makes Nightshift check the forges."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from nightshift.app.forges import forge_hook
from nightshift.core.errors import HookRefused
from nightshift.remote.forges.connections import open_forge
from nightshift.remote.forges.hooks import is_signed
from nightshift.remote.forges.poller import HINT_S, Poller
from tests.remote.forges.conftest import AT_ONE, Rig
from tests.support.clocks import HandClocks

SECRET, BODY = "the secret of the hook", b'{"action": "opened", "repository": "whatever"}'
DIGEST = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
RIGHT = {
    "x-hub-signature-256": f"sha256={DIGEST}", "x-gitea-signature": DIGEST, "x-forgejo-signature": DIGEST,
    "x-gitlab-token": SECRET,
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_each_forges_signature_is_known_and_a_wrong_one_as_well(name: str) -> None:
    assert is_signed({name: RIGHT[name]}, BODY, SECRET)
    assert not is_signed({name: RIGHT[name]}, BODY, "another secret")
    assert not is_signed({name: ""}, BODY, SECRET)
    assert not is_signed({name: RIGHT[name][:-1] + "é"}, BODY, SECRET)
    if name != "x-gitlab-token":
        assert not is_signed({name: RIGHT[name]}, BODY + b" ", SECRET)
        assert not is_signed({name: SECRET}, BODY, SECRET)


@AT_ONE
async def test_a_hook_brings_a_look_at_once_but_not_one_for_each_hook(rig: Rig) -> None:
    clocks = HandClocks()
    poller = Poller(
        lambda: (rig.connection,), lambda: 60.0, lambda each: open_forge(each, rig.store.clock), rig.services,
        monotonic=clocks.monotonic,
    )  # fmt: skip
    settings: Any = SimpleNamespace(forge_webhook_secret=SecretStr(SECRET))
    take = forge_hook(lambda: settings, poller)
    await poller.turn()
    looks = len(rig.server.seen)
    rig.world.issue("Mend the answer")
    await poller.turn()
    assert len(rig.server.seen) == looks
    assert take({"x-gitlab-token": SECRET}, BODY) == (rig.connection.address,)
    await poller.turn()
    assert len(rig.server.seen) == looks, "it was looked at a moment ago"
    clocks.pass_s(HINT_S)
    await poller.turn()
    assert len(rig.tasks()) == 1
    looks = len(rig.server.seen)
    with pytest.raises(HookRefused, match="signature"):
        take({}, BODY)
    settings.forge_webhook_secret = None
    with pytest.raises(HookRefused, match="forge_webhook_secret"):
        take({"x-gitlab-token": SECRET}, BODY)
    clocks.pass_s(HINT_S)
    await poller.turn()
    assert len(rig.server.seen) == looks
    await poller.aclose()


@AT_ONE
async def test_what_a_task_does_is_told_without_a_look_for_news(rig: Rig, tmp_path: Path) -> None:
    clocks = HandClocks()
    poller = Poller(
        lambda: (rig.connection,), lambda: 60.0, lambda each: open_forge(each, rig.store.clock), rig.services,
        monotonic=clocks.monotonic,
    )  # fmt: skip
    rig.store.events.subscribe(poller.on_events)
    number = rig.world.issue("Mend the answer")
    await poller.turn()
    looks = len(rig.server.seen)
    await rig.claimed()
    while len(rig.server.seen) == looks:  # the event comes on the writer's thread, shortly after the claim
        await asyncio.sleep(0.01)
        await poller.turn()
    assert [each.method for each in rig.server.seen[looks:]] == ["PUT" if rig.kind == "gitlab" else "PATCH"]
    assert "is being worked on" in rig.comments(rig.world.issues[number])[0].text
    assert poller.statuses()[0].issues == 1
    await poller.aclose()
