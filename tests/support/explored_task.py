"""The records of a task whose coder explored with tools, written through the real stores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nightshift.core.clock import utc_now
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Change, Task
from nightshift.core.tools import ToolPlace, ToolRecord
from nightshift.server.context import AppContext
from nightshift.storage.db.tool_store import ToolStore
from tests.support.worked_task import claim, save, submit

ABOUT = "Names that begin with a dollar sign are split: make the lexer keep `$name` as one token"
LONG = "\n".join(f"{number:5}\t    (r'pattern_{number}', tokens.Name)," for number in range(201, 401))
TRACE = "E       AssertionError: assert '1a' == '$1a'\n1 failed, 32 passed in 0.41s\nexit code 1"
OLD = "        (r'[A-ZÀ-Ü]\\w*(?=\\.)', tokens.Name),\n        (r'(?<=\\.)[A-ZÀ-Ü]\\w*', tokens.Name),\n"
NEW = "        (r'[$A-ZÀ-Ü][$\\w]*(?=\\.)', tokens.Name),\n        (r'(?<=\\.)[$A-ZÀ-Ü][$\\w]*', tokens.Name),\n"
FILE = "from sqlparse import keywords\n\n\ndef dollar():\n    return [one for one in keywords.SQL_REGEX]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One tool call. With `first`, the call begins a new reply of the model, which starts with the text `preface`."""

    name: str
    arguments: dict[str, object]
    text: str
    ok: bool = True
    change: Change | None = None
    took_s: float = 0.003
    preface: str = ""
    first: bool = True


EDITED = {"sqlparse/keywords.py": NEW}
ACTS: Sequence[Act] = [
    Act(name="list_files", arguments={"path": "", "glob": "*.py"}, text="sqlparse/ (14 files)\ntests/ (9 files)"),
    Act(name="search", arguments={"pattern": "SQL_REGEX"}, text="2 matches in 2 files"),
    Act(name="search", arguments={"pattern": "Placeholder", "path": "sqlparse"}, text="1 match in 1 file", first=False),
    Act(name="read_file", arguments={"path": "sqlparse/keywords.py", "start": 201, "lines": 200}, text=LONG),
    Act(name="read_file", arguments={"path": "sqlparse/lexers.py"}, ok=False,
        text="There is no file sqlparse/lexers.py. Nearest: sqlparse/lexer.py"),
    Act(name="run", arguments={"command": "python -m pytest -q", "timeout": 60}, text=TRACE, ok=False, took_s=1.84,
        preface="Before I change anything I want to see it fail."),
    Act(name="edit", arguments={"path": "sqlparse/keywords.py", "old": OLD, "new": NEW}, change=EDITED,
        text="sqlparse/keywords.py: 1 place changed (lines 46-47)"),
    Act(name="write_file", arguments={"path": "tests/check_dollar.py", "content": FILE},
        text="tests/check_dollar.py written (5 lines)", change={**EDITED, "tests/check_dollar.py": FILE}),
    Act(name="write_file", arguments={"path": "tests/check_dollar.py", "content": None}, change=EDITED, first=False,
        text="tests/check_dollar.py removed"),
]  # fmt: skip


def explore(context: AppContext, task: Task, step_no: int, acts: Sequence[Act] = ACTS) -> None:
    """Store the replies of a step and the results of their tool calls."""
    store = ToolStore(context.database, context.events, mask=context.mask)
    call_no, seq = -1, 0
    for act in acts:
        call_no, seq = (call_no + 1, 0) if act.first else (call_no, seq + 1)
        if act.first:
            _reply(context, task, step_no, call_no, act)
        tool_place = ToolPlace(task_id=task.id, attempt=task.attempt, step_no=step_no, call_no=call_no, seq=seq)
        record = ToolRecord(
            name=act.name, arguments=json.dumps(act.arguments, ensure_ascii=False), text=act.text, ok=act.ok,
            change=act.change, took_s=act.took_s,
        )  # fmt: skip
        store.save(tool_place, task.fence, record, worker="worker-1").result()


def _reply(context: AppContext, task: Task, step_no: int, call_no: int, act: Act) -> None:
    request = ModelRequest(
        phase=Phase.CODING, messages=(Message(role="user", text=task.spec.description),), task_id=task.id,
        attempt=task.attempt, step_no=step_no, call_no=call_no, iteration=1,
    )  # fmt: skip
    completion = Completion(
        text=f"{act.preface}\n\n```{act.name}\n```", backend="ollama", model="qwen2.5-coder:7b",
        tokens_in=2400 + 310 * call_no, tokens_out=60, latency_s=1.4,
    )  # fmt: skip
    context.steps.save_reply(request, completion).result()


def explore_it(context: AppContext, *, acts: Sequence[Act] = ACTS, finished: bool = True) -> int:
    """Create a task with a plan and a CODING step that consists of these tool calls, and return the task's id.

    Unless `finished`, the CODING step is still running.
    """
    number = submit(context, ABOUT)
    task = claim(context)
    work = AttemptState(phase=Phase.CODING, base="c0ffee" * 6, step_no=1, plan="Find where names are matched.")
    save(context, task, work, Phase.PLANNING)
    explore(context, task, 1, acts)
    if finished:
        done = replace(work, step_no=2, iteration=1, change={"sqlparse/keywords.py": NEW}, phase=Phase.TESTING)
        step = Step(phase=Phase.CODING, outcome=Outcome.OK, state=done, note="wrote sqlparse/keywords.py, CHANGELOG")
        args = (task.id, task.attempt, task.fence, step)
        context.steps.save_step(*args, started_at=utc_now(), duration_s=48.6).result()
    return number
