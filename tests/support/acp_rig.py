"""A scripted agent as a backend in the real sandbox."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightshift.core.dialogue import Completion, Material, Message, ModelRequest
from nightshift.core.events import Event
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.states import Phase, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.models.acp.agent import AgentPlace, AgentSettings
from nightshift.models.acp.backend import AcpBackend
from nightshift.sandbox import job_folders
from nightshift.verdict.environments.outbound import Endpoint
from nightshift.verdict.environments.registries import Registries
from tests.support.sandboxes import bubblewrap, runtime
from tests.support.trees import TextTree

PROGRAM = Path(__file__).with_name("acp_agent.py")


@contextmanager
def agent_folder(script: Mapping[str, Any]) -> Iterator[Path]:
    """Create a folder that holds the agent and its script and that the sandbox's user can read."""
    folder = Path(tempfile.mkdtemp(prefix="nightshift-acp-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        shutil.copy(PROGRAM, folder / "agent.py")
        (folder / "script.json").write_text(json.dumps(script))
        (folder / "bin").mkdir()
        program = folder / "bin" / "scripted-agent"
        program.write_text(f'#!/bin/sh\nexec python3 {folder}/agent.py {folder}/script.json "$@"\n')
        for path in (folder / "agent.py", folder / "script.json"):
            path.chmod(0o644)
        program.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def running(folder: Path) -> list[str]:
    """Return the ids of the processes that run the agent of this folder."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"{folder}/agent.py".encode() in path.read_bytes():
                pids.append(path.parent.name)
    return pids


@dataclass
class AcpRig:
    """A backend that runs the agent, with the events that it emitted."""

    backend: AcpBackend
    folder: Path
    events: list[Event] = field(default_factory=list)

    async def ask(
        self, phase: Phase = Phase.CODING, files: Mapping[str, str] | None = None, *, text: str = "Do it.", **state: Any
    ) -> Completion:
        """Send the agent a request in this phase, about a commit that contains these files."""
        return await self.backend.generate(request(phase, files, text, self.events.append, **state))


def request(
    phase: Phase,
    files: Mapping[str, str] | None = None,
    text: str = "Do it.",
    emit: Any = None,
    tests: Mapping[str, str] | None = None,
    **state: Any,
) -> ModelRequest:
    """Return a model request about these files."""
    tree = TextTree({"add.py": "def add(a, b):\n    return a - b\n"} if files is None else files)
    spec = TaskSpec(description="Mend add.", tests=dict(tests or {}))
    task = Task(id=1, spec=spec, status=Status.RUNNING, created_at=datetime.now(UTC))
    material = Material(
        context=AttemptContext(task=task),
        state=AttemptState(phase=phase, base=tree.commit, **state),
        tree=tree,
        emit=emit,
    )
    messages = (Message(role="system", text=f"Phase: {phase}\n"), Message(role="user", text=text))
    return ModelRequest(phase=phase, messages=messages, task_id=1, material=material)


@contextmanager
def make_rig(script: Mapping[str, Any], *hosts: Endpoint, **settings: Any) -> Iterator[AcpRig]:
    """Create a backend whose agent follows this script. At the end, check that no agent is still running."""
    with agent_folder(script) as folder, tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        Path(scratch).chmod(0o755)
        agent_settings = AgentSettings(command=("scripted-agent",), folders=(folder,), hosts=hosts, turn_s=60.0)
        agent_place = AgentPlace(
            sandbox=bubblewrap(),
            runtime=runtime(),
            folder=job_folders.private(Path(scratch) / "agents"),
            network=Registries,
        )
        yield AcpRig(AcpBackend(replace(agent_settings, **settings), lambda: agent_place), folder)
        assert not list(agent_place.folder.iterdir()), "a copy was left behind"
