"""The parts of a prompt that several phases share: the task, its tests, what was tried, and what failed last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.context import (
    Surroundings,
    estimate_tokens,
    expected_files,
    listing,
    outlines,
    show_files,
    show_tests,
    surroundings,
)
from agent.prompting import quoted, sections
from agent.tools import Tools
from agent.view import View
from core.brief import Brief
from core.dialogue import Message
from core.masking import printable
from core.tasks import Language
from core.work import Case, Lesson, Try, Work

_LESSON_CHARS = 600
_HAND_OVER_CHARS = 3000
_TEST_SHARE = 0.4
_MAP_SHARE = 0.12
_MAX_MISSING = 10
_MIN_TOKENS = 1000

_MORE = "The code is also called with other inputs that the task's words allow, and must be right for these as well."

_BESIDE = "How these words were read; where the two differ, the words hold:"

_AROUND = "What the files nearest to these define; they are not shown further below:"

Sections = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a prompt is made of."""

    case: Case
    work: Work
    tools: Tools
    view: View
    near: Surroundings


def scene(case: Case, work: Work, tools: Tools) -> Scene:
    """Look at the files once for a prompt; may read many of them, so not on the loop."""
    view = View(tools.tree, work.change)
    near = surroundings(case, work, view, tools.shelf)
    return Scene(case=case, work=work, tools=tools, view=view, near=near)


def with_files(scene: Scene, head: Message, stable: Sections, changing: Sections) -> list[Message]:
    """System prompt and user message: what is stable first, then the files in what is left of the budget."""
    used = estimate_tokens(head.text) + sum(estimate_tokens(text) for _, text in (*stable, *changing))
    budget = max(_MIN_TOKENS, scene.tools.settings.prompt_tokens - used)
    files = ("The files as they are now", the_files(scene, budget))
    return [head, sections([*stable, files, *changing])]


def language_part(case: Case, *, tests: bool = False) -> str:
    """The name of the prompt part about the task's language."""
    name = "javascript" if case.task.spec.language is Language.JAVASCRIPT else "python"
    return f"languages/{name}_tests" if tests else f"languages/{name}"


def the_task(case: Case, work: Work) -> str:
    """The owner's words, how they were read where they are vague, and which packages he allowed or denied."""
    allowed = [*case.task.spec.packages, *_packages(case.granted)]
    more = f"\n\nThese packages may be used: {', '.join(dict.fromkeys(allowed))}." if allowed else ""
    if denied := _packages(case.denied):
        more += f"\n\nThe owner denied these packages; do without them: {', '.join(denied)}."
    read = f"\n\n{_BESIDE}\n\n{quoted('reading', the_reading(work.brief))}" if work.brief else ""
    return quoted("task", case.task.spec.description) + read + more


def the_reading(brief: Brief) -> str:
    """A task made precise, as text."""
    lines = [f"Goal: {brief.goal}"]
    lines += [f"{name}: {text}" for name, text in (("Inputs", brief.inputs), ("Outputs", brief.outputs)) if text]
    for name, items in (("Constraints", brief.constraints), ("Acceptance tests", brief.acceptance)):
        lines += [f"{name}:", *(f"- {item}" for item in items)] if items else []
    answered = [one for one in brief.questions if one.answer]
    lines += ["Settled:", *(f"- {one.text} {one.answer}" for one in answered)] if answered else []
    return "\n".join(lines)


def _packages(subjects: frozenset[str]) -> list[str]:
    return sorted(subject.removeprefix("package:") for subject in subjects if subject.startswith("package:"))


def the_tests(scene: Scene) -> str:
    """What will judge the work: given tests, a command, or tests of the agent's own."""
    spec, own = scene.case.task.spec, scene.work.own_tests
    budget = max(_MIN_TOKENS, int(scene.tools.settings.prompt_tokens * _TEST_SHARE))
    if spec.tests:
        shown = show_tests(scene.case.shown_tests, budget)
        more = f" {_MORE}" if scene.case.held.cases else ""
        return f"These were given. They are fixed, and all of them must pass.{more}\n\n{shown}"
    if spec.test_command:
        return f"This command must end with exit code 0:\n\n{quoted('command', ' '.join(spec.test_command))}"
    if own:
        return f"The agent wrote these for the task, in another phase. They must pass.\n\n{show_tests(own, budget)}"
    if spec.cases:
        return f"None are shown. {_MORE}"
    return "None were given. Tests are written from the task's words after the code, by someone who does not see it."


def the_repository(scene: Scene) -> str:
    """The names of its files, and what those define that stand around the ones that matter."""
    names = listing(scene.view, scene.near.matter, whole_tree=scene.case.whole_tree)
    budget = int(scene.tools.settings.prompt_tokens * _MAP_SHARE)
    found = outlines(scene.view, scene.near.around, budget) if scene.near.around else ""
    return f"{names}\n\n{_AROUND}\n\n{found}" if found else names


def the_files(scene: Scene, budget: int) -> str:
    """The files that matter, as they are now, and the names of those that do not exist yet."""
    shown = show_files(scene.view, scene.near.matter, budget)
    missing = [path for path in expected_files(scene.case, scene.work, scene.view) if path not in scene.view]
    if missing and len(missing) <= _MAX_MISSING:
        shown += f"\n\nThese are asked for and do not exist yet: {', '.join(missing)}"
    return shown.strip()


def the_lessons(lessons: tuple[Lesson, ...]) -> str:
    """What memory recalled, shortened."""
    texts = [printable(lesson.text.strip())[:_LESSON_CHARS] for lesson in lessons]
    return quoted("lessons", "\n\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))) if texts else ""


def earlier_tries(work: Work) -> str:
    """All tries but the last, each in a few lines; their output is left out, because the last run tells more."""
    lines = [_line(one) for one in work.tries[1 if _handed_over(work) else 0 : -1]]
    return quoted("earlier tries", "\n".join(lines)) if lines else ""


def hand_over(work: Work) -> str:
    """After a fresh start: what was tried before it, which stands where the first try's feedback stood."""
    return quoted("hand-over", work.tries[0].feedback) if _handed_over(work) else ""


def _handed_over(work: Work) -> bool:
    """Tell whether the first try is the hand-over: it alone has no digest."""
    return bool(work.tries) and not work.tries[0].digest


def summed_up(work: Work) -> str:
    """The hand-over to a fresh start: the tries so far in a line each, oldest first."""
    lines = [work.tries[0].feedback] if _handed_over(work) else []
    lines += [_line(one) for one in work.tries[len(lines) :]]
    return "\n".join(lines)[-_HAND_OVER_CHARS:]


def _line(one: Try) -> str:
    more = f" and {len(one.failing) - 3} more" if len(one.failing) > 3 else ""
    thought = one.reflection.root_cause or one.reflection.pattern
    said = f" The diagnosis was: {_cut(thought)}" if thought else ""
    did = f" What was suggested: {_cut(one.reflection.suggested_fix)}" if one.reflection.suggested_fix else ""
    return f"Try {one.iteration} failed: {', '.join(one.failing[:3])}{more}.{said}{did}"


def _cut(text: str) -> str:
    """A thought as one short sentence."""
    return (text if len(text) <= 300 else text[:299] + "…").rstrip(".") + "."


def last_failure(work: Work) -> str:
    """The feedback of the last run and, where there is one, the reflection on it."""
    if not work.feedback:
        return ""
    text = quoted("result", work.feedback)
    reflection = work.tries[-1].reflection if work.tries else None
    if reflection and (reflection.root_cause or reflection.suggested_fix):
        parts = (
            ("Cause", reflection.root_cause),
            ("Expected", reflection.hypothesis),
            ("Fix", reflection.suggested_fix),
        )
        thought = "\n".join(f"{name}: {value}" for name, value in parts if value)
        text += f"\n\nA diagnosis of it, which may be wrong:\n\n{quoted('diagnosis', thought)}"
    return text
