"""An agent in the sandbox as a backend: its change is the reply, and what it may not do it cannot."""

from __future__ import annotations

from core.dialogue import Finish
from core.states import Phase
from tests.support.acp_rig import scripted

GOOD = "def add(a, b):\n    return a + b\n"


async def test_what_the_agent_changes_is_the_reply() -> None:
    script = {"CODING": [["say", "I look."], ["write", "/work/add.py", GOOD], ["say", "Summary: Add adds\n"]]}
    with scripted(script) as rig:
        assert rig.backend.is_available(), rig.backend.detail
        reply = await rig.ask()
    assert reply.text == f"Summary: Add adds\n\n```python path=add.py\n{GOOD}```\n"
    assert (reply.backend, reply.model, reply.cost_usd, reply.finish) == ("acp", "scripted-agent", None, Finish.STOP)
    assert reply.spent.unpriced == 1
    assert reply.latency_s > 0
    assert "".join(rig.written).startswith("I look.write")


async def test_in_other_phases_its_last_message_is_the_reply() -> None:
    script = {"PLANNING": [["say", "I look."], ["write", "/work/add.py", GOOD], ["say", "Turn the sign."]]}
    with scripted(script) as rig:
        reply = await rig.ask(Phase.PLANNING)
    assert reply.text == "Turn the sign."
