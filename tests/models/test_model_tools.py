"""The tool loop over the real gateway.

It does the same work with every vendor's wire format, with native tool calls and with tool calls as text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from nightshift.agent.services import AgentServices, AgentSettings
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Explore
from tests.support.agent_parts import Bench, ScriptedModel, case_for
from tests.support.gateway import Gateway, GatewaySetup, backend
from tests.support.wire_server import Reply, WireServer

BASE = {"add.py": "def add(a, b):\n    return a - b\n", "other.py": "X = 1\n"}
TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
EDIT = {"path": "add.py", "old": "    return a - b", "new": "    return a + b"}
CALLS: list[list[tuple[str, Any]]] = [
    [("search", {"pattern": "def add"}), ("read_file", {"path": "add.py"})],
    [("edit", EDIT)],
    [("done", {"summary": "Add instead of subtracting"})],
]
BLOCKS = [
    "```read_file path=add.py\n```",
    "```edit path=add.py\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```",
    "```done\nAdd instead of subtracting\n```",
]


@dataclass
class WireBench(Bench):
    """A bench with the gateway as its model."""

    gateway: Gateway | None = None

    @property
    def tools(self) -> AgentServices:
        assert self.gateway
        return replace(super().tools, model=self.gateway.task())


def coder(server: WireServer) -> None:
    """Script the server to call tools in the form in which the request offers them: natively, or in text blocks."""

    def reply(phase: str, messages: list[dict[str, Any]]) -> str | Reply:
        if phase != Phase.CODING:
            return "1. Mend add."
        number = sum(turn["role"] == "assistant" for turn in messages)
        if server.requests[-1].tools:
            return Reply(text="", finish="tool", tools=CALLS[number])
        return Reply(text=BLOCKS[number])

    server.reply = reply


@pytest.mark.parametrize(
    ("kind", "form", "refuses"),
    [
        ("openai", "native", ""),
        ("anthropic", "native", ""),
        ("ollama", "text", ""),
        ("openai", "text", "tools: extra inputs are not permitted"),
        ("anthropic", "text", "tools: extra inputs are not permitted"),
    ],
)
async def test_a_model_works_with_tools_over_the_wire(tmp_path: Path, kind: str, form: str, refuses: str) -> None:
    with WireServer() as server:
        coder(server)
        server.no_tools = refuses
        async with GatewaySetup(tmp_path).gateway(backend(server, kind)) as gateway:
            await gateway.handler.probe()
            bench = WireBench(
                cast("ScriptedModel", None), base=BASE, settings=AgentSettings(explore=Explore.ON), gateway=gateway
            )
            work = await bench.run(case_for(tests=TESTS))
            assert (work.phase, work.iteration) == (Phase.COMMIT, 1)
            assert work.change == {"add.py": "def add(a, b):\n    return a + b\n"}
            coding = next(step for step in bench.steps if step.phase is Phase.CODING)
            assert coding.data["forms"] == [[kind, "tiny-coder", form, 3, 0]]
            last = server.requests[-1]
            assert bool(last.tools) == (form == "native")
            results = [turn["content"] for turn in last.messages if turn["role"] in {"tool", "user"}]
            assert any("return a - b" in text for text in results)
            assert "Edited add.py." in results[-1]
