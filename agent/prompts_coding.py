"""What CODING asks for: the first request of a step, and the complaint about a reply that could not be used."""

from __future__ import annotations

from collections.abc import Sequence

from agent import briefing, kinds
from agent.drafting import Taken
from agent.prompting import quoted, system
from agent.tools import EditFormat, Tools
from core.dialogue import Message
from core.states import Phase
from core.work import Case, Work

_STUCK = (
    "Earlier tries went in circles, so their details are left out. Begin again from the words of the task and the "
    "tests, as if you saw them for the first time. Distrust the code as it is; write another solution if in doubt."
)


def first_request(case: Case, work: Work, tools: Tools) -> list[Message]:
    """System prompt and case, with what is stable first."""
    scene = briefing.scene(case, work, tools)
    head = system(Phase.CODING, *_formats(scene), briefing.language_part(case), _kind(case))
    stable = [
        ("The task", briefing.the_task(case, work)),
        ("The tests", briefing.the_tests(scene)),
        ("The repository", briefing.the_repository(scene)),
        ("Lessons from earlier work", briefing.the_lessons(work.lessons)),
        ("The plan", quoted("plan", work.plan) if work.plan else ""),
    ]
    changing = [
        ("What was tried before this fresh start", briefing.hand_over(work)),
        ("Earlier tries", briefing.earlier_tries(work)),
        ("What the last try led to", briefing.last_failure(work)),
        ("Now", _now(work)),
    ]
    return briefing.with_files(scene, head, stable, changing)


def _kind(case: Case) -> str:
    return f"kinds/{kinds.kind_of(case.task.spec)}"


def _formats(scene: briefing.Scene) -> tuple[str, ...]:
    """The parts that teach the reply's form; edits only where they are wanted."""
    settings = scene.tools.settings
    if settings.edit_format is EditFormat.EDIT:
        return ("formats/whole", "formats/edit", "formats/edit_only")
    longest = max(((scene.view.text(path) or "").count("\n") for path in scene.near.matter), default=0)
    if settings.edit_format is EditFormat.AUTO and longest > settings.whole_file_lines:
        return ("formats/whole", "formats/edit", "formats/auto")
    return ("formats/whole",)


def _now(work: Work) -> str:
    if not work.feedback:
        return "Write the files."
    text = "Find the cause of the failure in the files above, and send the files that change."
    return f"{_STUCK}\n\n{text}" if work.escalation else text


def complaint(taken: Taken, done: Sequence[str]) -> Message:
    """What could not be used, what was, and what to send again."""
    faults = [f"- {fault}" for fault in taken.faults]
    faults += [f"- {path} {why}." for path, why in taken.refused]
    parts = ["Your reply could not be used, or not all of it:", quoted("complaints", "\n".join(faults))]
    if done:
        parts.append(f"These were taken and need not come again: {', '.join(done[:40])}. Send only what is missing.")
    else:
        parts.append("Send the files again in the form that was described.")
    return Message(role="user", text="\n\n".join(parts) + "\n")
