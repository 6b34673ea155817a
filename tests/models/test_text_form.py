"""Tool calls written as text, with a real model behind GPT4All.

Whatever the model writes, the loop reads it, answers and ends.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightshift.agent.services import AgentSettings
from nightshift.core.dialogue import Completion, ModelRequest
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Explore
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.core.tool_text import as_text
from nightshift.models.gpt4all_local import GPT4AllBackend
from tests.models.test_llama_cpp import smollm2
from tests.support.agent_parts import Bench, case_for, model_for

TESTS = {"test_add.py": "from add import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"}
BASE = {"add.py": "def add(a, b):\n    return a - b\n"}


@dataclass
class LocalModel:
    """A model that really answers in CODING, with tool calls as text; the replies of other phases are scripted."""

    backend: GPT4AllBackend
    others: object
    asked: list[ModelRequest] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> Completion:
        if request.phase is not Phase.CODING:
            return await self.others.complete(request)  # type: ignore[attr-defined, no-any-return]
        messages = as_text(request.messages, request.tools)
        self.asked.append(replace(request, messages=messages))
        reply = await self.backend.generate(
            replace(request, messages=messages, tools=(), max_tokens=24, temperature=0.0)
        )
        self.replies.append(reply.text)
        return replace(reply, protocol=ToolProtocol.TEXT)


def readable_by_gpt4all(folder: Path) -> Path:
    """Write a copy of the model that names a pre-tokenizer known to GPT4All's engine; return the copy's path."""
    path = folder / "smollm2.gguf"
    command = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--pre-tokenizer", "gpt-2"]
    subprocess.run([*command, str(smollm2()), str(path)], check=True, capture_output=True, timeout=120)
    return path


async def test_a_small_model_is_led_through_the_loop_and_nothing_breaks(tmp_path: Path) -> None:
    backend = GPT4AllBackend(path=readable_by_gpt4all(tmp_path), num_ctx=8192)
    settings = AgentSettings(explore=Explore.ON, explore_steps=2)
    bench = Bench(model_for(), base=BASE, settings=settings)
    model = LocalModel(backend, bench.model)
    bench.model = model  # type: ignore[assignment]
    try:
        await bench.run(case_for(tests=TESTS, limits={"iterations": 1}, iterations=1))
    finally:
        await backend.aclose()
    assert bench.walk[:2] == [Phase.PLANNING, Phase.CODING]
    assert any(text.strip() for text in model.replies)
    for request in model.asked:
        assert {message.role for message in request.messages} <= {"system", "user", "assistant"}
        assert "# Tools" in request.messages[0].text
