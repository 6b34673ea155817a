"""The parts of a prompt that several phases share: the task, its tests, what was tried, and what failed last."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from nightshift.agent.asking import answers
from nightshift.agent.exploring import EXPLORING, is_wanted
from nightshift.agent.history import fit, last_failure, lines_of
from nightshift.agent.kinds import asks_for_documents
from nightshift.agent.owner_words import the_messages
from nightshift.agent.prompt.budget import Prompt, Section, Shown, clip, compose, fix
from nightshift.agent.prompt.context import (
    Surroundings,
    list_expected_files,
    listing,
    outlines,
    show_files,
    show_tests,
    surroundings,
)
from nightshift.agent.prompt.conventions import conventions
from nightshift.agent.prompt.neighbours import neighbours, where
from nightshift.agent.prompt.text import quote
from nightshift.agent.services import AgentServices
from nightshift.agent.view import View, base_text
from nightshift.core.code.javascript import Framework, choose_framework, is_source
from nightshift.core.code.tree import Tree
from nightshift.core.dialogue import Message
from nightshift.core.gauge import Gauge
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Brief
from nightshift.core.tasks.language_choice import is_django
from nightshift.core.tasks.projects import LAID_OUT
from nightshift.core.tasks.remarks import Gravity
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Change, Language
from nightshift.core.text.masking import printable

_LESSON_CHARS = 600
_MAX_MISSING = 10
_SPARE = 0.15
"""Share of the limit that a question leaves free, so that it can be repeated with the reply and a complaint."""

_MORE = "The code is also called with other inputs that the task's words allow, and must be right for these as well."

_FRAME = 48
"""Tokens of a quotation's two marker lines, with a margin."""

_BEGINNING_TOKENS = 1500
_CHANGE_TOKENS = 3000
_DIFF_LINES = 8000
_OVERVIEW_TOKENS = 1200
_LIKELY = 8
"""Maximum number of files that are listed as perhaps of interest, for a model that reads files itself."""

LAST = "What the last try led to"

_UNSHOWN = "(They are too long to be shown.)"

_BESIDE = "How these words were read; where the two differ, the words hold:"

_AROUND = "What the files nearest to these define; they are not shown further below:"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """The data from which all parts of a prompt are made, and the length limit of the prompt."""

    context: AttemptContext
    state: AttemptState
    services: AgentServices
    view: View
    near: Surroundings
    gauge: Gauge
    limit: int
    explores: bool = False
    """True if the model reads files itself, so that only a few files are shown at the start."""


def prompt_context(
    context: AttemptContext, state: AttemptState, services: AgentServices, phase: Phase
) -> PromptContext:
    """Collect the inputs of a prompt once; may read many files, so do not call it on the event loop."""
    view = View(services.tree, state.change)
    near = surroundings(context, state, view, services.symbol_cache)
    gauge = services.gauge(phase, state.escalation)
    return PromptContext(
        context=context,
        state=state,
        services=services,
        view=view,
        near=near,
        gauge=gauge,
        limit=services.settings.limit(phase, gauge),
        explores=phase in EXPLORING and is_wanted(context, state, services, gauge, near),
    )


def join_parts(about: PromptContext, head: Message, parts: Sequence[Section], *, once: bool = False) -> Prompt:
    """Compose a prompt from these parts within its limit; `once` reserves no space for repeating the question."""
    messages = the_messages(about.context.messages, about.gauge)
    prompt = compose(head, [*parts[:1], messages, *parts[1:]], about.limit, about.gauge, spare=0.0 if once else _SPARE)
    return replace(prompt, explores=about.explores)


def language_file(context: AttemptContext, *, tests: bool = False) -> str:
    """Return the name of the prompt file about the task's language."""
    name = context.task.spec.language.value
    return f"languages/{name}_tests" if tests else f"languages/{name}"


def uses_django(context: AttemptContext, tree: Tree) -> bool:
    """Check whether the task's tests are tests of a Django project."""
    return context.task.spec.language is Language.PYTHON and is_django(partial(base_text, tree))


def tests_file(context: AttemptContext, tree: Tree, change: Change) -> str:
    """Return the name of the prompt file about tests in the task's language or framework."""
    if uses_django(context, tree):
        return "languages/django_tests"
    if context.task.spec.language is Language.JAVASCRIPT:
        first = next((path for path, text in change.items() if text is not None and is_source(path)), "")
        framework = choose_framework(first, lambda path: base_text(tree, path))
        if framework is not Framework.NODE:
            return f"languages/{framework}_tests"
    return language_file(context, tests=True)


def kind_file(context: AttemptContext) -> tuple[str, ...]:
    """Return the prompt file about the kind of task that the owner gave; none if the plan must choose the kind."""
    if asks_for_documents(context.task.spec):
        return ("kinds/documentation",)
    kind = context.task.spec.kind
    return () if kind is None else (f"kinds/{kind}",)


def the_task(about: PromptContext) -> Section:
    """Return the part with the owner's words and with the allowed and denied packages.

    If a specification was made from vague words (`agent.clarifying`), the part includes that specification.
    """
    return Section(title="The task", fill=lambda space: _task(about, space), share=0.45, rank=1)


def _task(about: PromptContext, space: int) -> Shown:
    context, brief = about.context, about.state.brief
    allowed = [*context.task.spec.packages, *_packages(context.granted)]
    more = f"\n\nThese packages may be used: {', '.join(dict.fromkeys(allowed))}." if allowed else ""
    if denied := _packages(context.denied):
        more += f"\n\nThe owner denied these packages; do without them: {', '.join(denied)}."
    space -= about.gauge.tokens(more) + _FRAME
    words, cut = clip(context.task.spec.description, space, about.gauge)
    text = quote("task", words)
    if brief:
        space -= about.gauge.tokens(text) + _FRAME
        reading, shorter = clip(the_reading(brief), max(space, _FRAME), about.gauge)
        text, cut = f"{text}\n\n{_BESIDE}\n\n{quote('reading', reading)}", cut or shorter
    return Shown(text=text + more, cut=cut)


def the_reading(brief: Brief) -> str:
    """Format the specification that was made from a task's vague words."""
    lines = [f"Goal: {brief.goal}"]
    lines += [f"{name}: {text}" for name, text in (("Inputs", brief.inputs), ("Outputs", brief.outputs)) if text]
    for name, items in (("Constraints", brief.constraints), ("Acceptance tests", brief.acceptance)):
        lines += [f"{name}:", *(f"- {item}" for item in items)] if items else []
    answered = [question for question in brief.questions if question.answer]
    lines += ["Settled:", *(f"- {question.text} {question.answer}" for question in answered)] if answered else []
    return "\n".join(lines)


def _packages(subjects: frozenset[str]) -> list[str]:
    return sorted(subject.removeprefix("package:") for subject in subjects if subject.startswith("package:"))


def the_answers(about: PromptContext) -> Section:
    """Return the part with the questions to the owner during the task, with the answers."""
    text = answers(about.context, about.state)
    return fix("What the owner was asked, and his answer", text, share=0.1, rank=2)


def the_tests(about: PromptContext) -> Section:
    """Return the part with what judges the work: tests that came with the task, a command, or the agent's own tests."""
    return Section(title="The tests", fill=lambda space: _tests(about, space), share=0.4, rank=3)


def _tests(about: PromptContext, space: int) -> Shown:
    spec, own = about.context.task.spec, about.state.own_tests
    more = f" {_MORE}" if about.context.held.cases else ""
    if spec.tests:
        return _below(f"These were given. They are fixed, and all of them must pass.{more}", about, space)
    if spec.test_command:
        command = quote("command", " ".join(spec.test_command))
        return Shown(text=f"This command must end with exit code 0:\n\n{command}")
    if own:
        return _below("The agent wrote these for the task, in another phase. They must pass.", about, space)
    if spec.cases:
        return Shown(text=f"None are shown. {_MORE}")
    return Shown(
        text="None were given. Tests are written from the task's words after the code, by someone who does not see it."
    )


def _below(head: str, about: PromptContext, space: int) -> Shown:
    """Show as many tests as fit, below a heading line."""
    tests = about.context.shown_tests if about.context.task.spec.tests else about.state.own_tests
    shown = show_tests(tests, space - about.gauge.tokens(head + "\n\n"), about.gauge)
    return replace(shown, text=f"{head}\n\n{shown.text or _UNSHOWN}")


def the_repository(about: PromptContext) -> Section:
    """Return the part with the names of the repository's files, and with outlines of files near the relevant ones."""
    return Section(title="The repository", fill=lambda space: _repository(about, space), share=0.2, rank=4)


def _repository(about: PromptContext, space: int) -> Shown:
    """Show a line about the project, the files of the task's own project, and files of other projects."""
    head = where(about.state, about.services.tree)
    others = neighbours(about.context, about.state, about.services.tree, space // 2, about.gauge)
    around = "\n\n".join(filter(None, (head, others)))
    own = _own_files(about, space - about.gauge.tokens(around))
    return replace(own, text="\n\n".join(filter(None, (head, own.text, others))))


def _own_files(about: PromptContext, space: int) -> Shown:
    if about.explores:
        return _overview(about, min(space, _OVERVIEW_TOKENS))
    names = _list_files(about, space // 2)
    space -= about.gauge.tokens(f"{names.text}\n\n{_AROUND}\n\n")
    around = outlines(about.view, about.near, space, about.gauge) if about.near.around else Shown()
    if not around.text:
        return names
    # `_files` counts the outlined files as left out; the negative number corrects the total.
    return replace(around, text=f"{names.text}\n\n{_AROUND}\n\n{around.text}", left_out=-len(around.outlined))


def _list_files(about: PromptContext, space: int) -> Shown:
    whole_tree = about.context.sees_all(about.state)
    return listing(about.view, about.near.matter, whole_tree=whole_tree, space=space, gauge=about.gauge)


def _overview(about: PromptContext, space: int) -> Shown:
    """Show a model that reads files itself the names of files or folders, and the files that are likely of interest."""
    names = _list_files(about, space // 2)
    lengths = {path: text.count("\n") for path in about.near.matter[:_LIKELY] if (text := about.view.text(path))}
    likely = "\n".join(f"{path} ({lines} lines)" for path, lines in lengths.items())
    more = f"\n\nPerhaps of interest:\n\n{quote('files', likely)}" if likely else ""
    return Shown(text=names.text + more, named=(*names.named, *lengths), left_out=names.left_out)


def the_conventions(about: PromptContext) -> Section:
    """Return the part with the owner's rules for agents, from the base alone; empty in the daemon's own workspace."""
    return Section(
        title="Conventions of this repository", fill=lambda space: _conventions(about, space), share=0.2, rank=4
    )


def _conventions(about: PromptContext, space: int) -> Shown:
    if not about.context.whole_tree:
        return Shown()
    paths = dict.fromkeys((*about.state.change, *about.near.matter))
    return conventions(about.services.tree, paths, space, about.gauge, tools=about.explores)


def the_files(about: PromptContext) -> Section:
    """Return the part with the current files that matter and the names of missing files, in all remaining space."""
    return Section(title="The files as they are now", fill=lambda space: _files(about, space), rank=9)


def _files(about: PromptContext, space: int) -> Shown:
    missing = [path for path in list_expected_files(about.context, about.state, about.view) if path not in about.view]
    more = f"\n\nThese are asked for and do not exist yet: {', '.join(missing)}"
    more = more if missing and len(missing) <= _MAX_MISSING else ""
    space = min(space, _BEGINNING_TOKENS) if about.explores else space
    space -= about.gauge.tokens(more)
    shown = show_files(about.view, about.near.matter, space, about.gauge, about.near.interest)
    shown_count = len(shown.in_full) + len(shown.outlined) + len(shown.named)
    all_of_it = about.context.sees_all(about.state)
    away = (about.view.count() if all_of_it else len(about.near.matter)) - shown_count
    return replace(shown, text=(shown.text + more).strip(), left_out=max(0, away))


def the_change(about: PromptContext, *, new: bool = False) -> Section:
    """Return the part with the change so far as a diff against the owner's files; `new` includes added files."""
    return Section(title="Your change so far", fill=lambda space: _change(about, space, new), share=0.15, rank=3)


def _change(about: PromptContext, space: int, new: bool) -> Shown:
    given, change = about.context.task.spec.files, about.state.change
    if not (about.state.feedback or about.state.tries):
        change = {path: text for path, text in change.items() if path not in LAID_OUT}  # not written by the model
    diffs = list[str]()
    now = View(about.view.tree, change)
    for path in change:
        before, text = given.get(path, base_text(about.view.tree, path)), now.text(path)
        if before is None and not new:
            diffs.append(f"{path} is new")  # the section of `the_files` shows it whole
        elif before != text:
            diffs.append(_diff(path, before, text))
    text, cut = clip("\n".join(diffs), min(space, _CHANGE_TOKENS) - _FRAME, about.gauge)
    return Shown(text=quote("diff", text) if diffs else "", in_full=tuple(change) if new else (), cut=cut)


def _diff(path: str, before: str | None, after: str | None) -> str:
    old, now = ((text or "").splitlines() for text in (before, after))
    names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
    if len(old) + len(now) > _DIFF_LINES and before is not None and after is not None:
        return f"{path} is changed"  # comparing many repeated lines takes quadratic time
    return "\n".join(difflib.unified_diff(old, now, *names, lineterm=""))


def the_lessons(about: PromptContext) -> Section:
    """Return the part with the recalled lessons: the best ones that fit, each cut to its limit."""
    return Section(title="Lessons from earlier work", fill=lambda space: _lessons(about, space), share=0.12, rank=3)


def the_beginning(about: PromptContext) -> list[Section]:
    """Return the parts that are known before any code is written.

    Every coding prompt begins with them, except plain ones.
    """
    first = (the_task, the_answers, the_tests, the_repository, the_conventions, the_lessons)
    return [section(about) for section in first]


def _lessons(about: PromptContext, space: int) -> Shown:
    shown, numbers = list[str](), list[int]()
    space -= _FRAME
    for lesson in about.state.lessons:
        text = f"{len(shown) + 1}. {printable(lesson.text.strip())[:_LESSON_CHARS]}"
        space -= about.gauge.tokens(text + "\n\n")
        if space >= 0:
            shown.append(text)
            numbers.append(lesson.id)
    cut = len(shown) < len(about.state.lessons)
    return Shown(text=quote("lessons", "\n\n".join(shown)) if shown else "", lessons=tuple(numbers), cut=cut)


def the_plan(state: AttemptState, title: str = "The plan") -> Section:
    """Return the part with the plan of the attempt."""
    return fix(title, quote("plan", state.plan) if state.plan else "", share=0.15, rank=3)


def the_history(about: PromptContext, *, failure: bool = True) -> list[Section]:
    """Return the parts of the history: the hand-over to a fresh start, the tries since then, and the last result."""
    state, gauge = about.state, about.gauge
    parts = [
        Section(
            title="What was tried before this fresh start",
            fill=lambda r: _show_hand_over(state, r, gauge),
            share=0.2,
            rank=3,
        ),
        Section(title="Earlier tries", fill=lambda space: _earlier(state, space, gauge), share=0.15, rank=3),
    ]
    return [*parts, the_failure(about), _remarks(state)] if failure else parts


def _remarks(state: AttemptState) -> Section:
    """Return the part with reviewers' remarks that the feedback does not include, to be fixed along the way."""
    remarks = [remark for remark in state.remarks_on_change if remark.gravity is not Gravity.LOW]
    lines = [
        f"- {remark}{f' Suggested: {remark.fix}' if remark.fix else ''}"
        for remark in remarks
        if remark.reason not in state.feedback
    ]
    text = quote("remarks", "\n".join(lines)) if state.feedback and lines else ""
    return fix("What readers of the change found besides; mend it along the way", text, share=0.1, rank=4)


def the_failure(about: PromptContext) -> Section:
    """Return the part with the last run's output, shortened if it is too long, and the reflection on it."""
    state, gauge = about.state, about.gauge
    return Section(title=LAST, fill=lambda space: _failure(state, space, gauge), share=0.25, rank=2)


def _show_hand_over(state: AttemptState, space: int, gauge: Gauge) -> Shown:
    text, cut = fit(state, space, gauge)
    return Shown(text=text, cut=cut)


def _earlier(state: AttemptState, space: int, gauge: Gauge) -> Shown:
    """Show the tries of this context except the last, one line each; the oldest are left out if there are too many."""
    lines, shown_lines = lines_of(state)[:-1], list[str]()
    space -= _FRAME + 20
    for line in reversed(lines):
        space -= gauge.tokens(line + "\n")
        if space < 0:
            break
        shown_lines.insert(0, line)
    away = len(lines) - len(shown_lines)
    shown_lines = [f"(left out: the {away} oldest)", *shown_lines] if away else shown_lines
    return Shown(text=quote("earlier tries", "\n".join(shown_lines)) if shown_lines else "", cut=bool(away))


def _failure(state: AttemptState, space: int, gauge: Gauge) -> Shown:
    result, cut = clip(state.feedback, space - gauge.tokens(last_failure(state, "")), gauge)
    return Shown(text=last_failure(state, result), cut=cut)


def closing(text: str) -> Section:
    """Return the closing line, which is never left out."""
    return fix("Now", text, rank=0)
