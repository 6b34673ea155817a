"""The parts of a prompt that several phases share: the task, its tests, what was tried, and what failed last."""

from __future__ import annotations

from agent.context import expected_files, listing, relevant, show_files, show_tests
from agent.prompting import quoted
from agent.tools import Tools
from agent.view import View
from core.masking import printable
from core.tasks import Language
from core.work import Case, Lesson, Try, Work

_LESSON_CHARS = 600
_HAND_OVER_CHARS = 3000
_TEST_SHARE = 0.4


def language_part(case: Case, *, tests: bool = False) -> str:
    """The name of the prompt part about the task's language."""
    name = "javascript" if case.task.spec.language is Language.JAVASCRIPT else "python"
    return f"languages/{name}_tests" if tests else f"languages/{name}"


def the_task(case: Case) -> str:
    """The owner's words."""
    return quoted("task", case.task.spec.description)


def the_tests(case: Case, work: Work, tools: Tools) -> str:
    """What will judge the work: given tests, a command, or tests of the agent's own."""
    spec, budget = case.task.spec, int(tools.settings.prompt_tokens * _TEST_SHARE)
    if spec.tests:
        return f"These were given. They are fixed, and all of them must pass.\n\n{show_tests(spec.tests, budget)}"
    if spec.test_command:
        return f"This command must end with exit code 0:\n\n{quoted('command', ' '.join(spec.test_command))}"
    if work.own_tests:
        text = "The agent wrote these for the task, in another phase. They must pass."
        return f"{text}\n\n{show_tests(work.own_tests, budget)}"
    return "None were given. Tests are written from the task's words after the code, by someone who does not see it."


def the_repository(case: Case, work: Work, tools: Tools) -> str:
    """The names of its files."""
    view = View(tools.tree, work.change)
    return listing(view, relevant(case, work, view), whole_tree=case.whole_tree)


def the_files(case: Case, work: Work, tools: Tools, used_tokens: int) -> str:
    """The files that matter, as they are now, in what is left of the budget."""
    view = View(tools.tree, work.change)
    shown = show_files(view, relevant(case, work, view), max(1000, tools.settings.prompt_tokens - used_tokens))
    missing = [path for path in expected_files(case, work, view) if path not in view]
    if missing and len(missing) <= 10:
        shown += "\n\nThese do not exist yet: " + ", ".join(missing)
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
    said = f" Diagnosis then: {thought[:300]}" if thought else ""
    did = f" What was suggested: {one.reflection.suggested_fix[:300]}" if one.reflection.suggested_fix else ""
    return f"Try {one.iteration} failed: {', '.join(one.failing[:3])}{more}.{said}{did}"


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
