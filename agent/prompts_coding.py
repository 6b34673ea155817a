"""What CODING asks for: the first request of a step, and the complaint about a reply that could not be used."""

from __future__ import annotations

from collections.abc import Sequence

from agent import briefing, kinds
from agent.drafting import Taken
from agent.portions import Prompt
from agent.prompting import quoted, system
from agent.tools import EditFormat, Tools
from core.states import Phase
from core.work import Case, Work

_STUCK = (
    "Earlier tries went in circles, so their details are left out. Begin again from the words of the task and the "
    "tests, as if you saw them for the first time. Distrust the code as it is; write another solution if in doubt."
)


def first_request(case: Case, work: Work, tools: Tools) -> Prompt:
    """System prompt and case, with what is stable first."""
    scene = briefing.scene(case, work, tools, Phase.CODING)
    head = system(Phase.CODING, *_formats(scene), briefing.language_part(case), _kind(case))
    parts = [
        briefing.the_task(scene),
        briefing.the_tests(scene),
        briefing.the_repository(scene),
        briefing.the_lessons(scene),
        briefing.the_plan(work),
        briefing.the_files(scene),
        *briefing.the_story(scene),
        briefing.now(_now(work)),
    ]
    return briefing.written(scene, head, parts)


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


def complaint(taken: Taken, done: Sequence[str]) -> str:
    """What could not be used, what was, and what to send again."""
    faults = [f"- {fault}" for fault in taken.faults]
    faults += [f"- {path} {why}." for path, why in taken.refused]
    parts = ["Your reply could not be used, or not all of it:", quoted("complaints", "\n".join(faults))]
    if done:
        parts.append(f"These were taken and need not come again: {', '.join(done[:40])}. Send only what is missing.")
    else:
        parts.append("Send the files again in the form that was described.")
    return "\n\n".join(parts) + "\n"
