"""Requests of CODING in plain words, for models that are small or that failed with the usual, longer instructions.

A small model copies the end of the prompt, and anything that has the form of an answer. With the usual instructions
Qwen2.5-Coder 1.5B solved 0 of 8 tasks; asked as a person would ask, it solves 7 of them (`docs/internals/prompts.md`).
Therefore the owner's words come first. Then come files in a form that no answer has, and the file to write is named
last. The model is not asked for a plan, an explanation or JSON.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial

from nightshift.agent.javascript_outline import list_exports
from nightshift.agent.kinds import asks_for_documents
from nightshift.agent.prompt import sections
from nightshift.agent.prompt.budget import Prompt, Section, Shown, clip, fix
from nightshift.agent.prompt.context import (
    Surroundings,
    list_expected_files,
    list_named_pages,
    list_named_paths,
    surroundings,
)
from nightshift.agent.python_outline import signatures
from nightshift.agent.replies.definitions import quote_definitions
from nightshift.agent.services import WHOLE_FILE_LINES, AgentServices
from nightshift.agent.view import View, settle
from nightshift.core.code import golang
from nightshift.core.code.javascript import is_source
from nightshift.core.code.parsing import is_shell
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.dialogue import Message
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.projects import LAID_OUT
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import Language, digest
from nightshift.core.tasks.verdicts import Failure

MENDS_AT = 4
"""Every fourth iteration edits the code of the previous one; the others begin afresh."""
MOST_FILES = 2
"""Maximum number of files for a request in plain words, which asks for the code at once, without a plan."""
PART_LINES = 80
"""Lines of a Python file above which a small model is asked for single functions instead of the whole file."""
_DEFINED = re.compile(r"\b[A-Za-z_]\w*\(|`[A-Za-z_][\w.]*`|\b[a-z]+_\w+|\b[A-Z]\w+\.[a-z_]\w*")
"""Matches a name of code in a task's description."""
_WORD = re.compile(r"\w+")
_TEST = re.compile(r"\btests?\b", re.IGNORECASE)
_LATER = "Leave out tests and example calls, which come later in a file of their own."
_FAILURE_CHARS = 1200
_MARKED = re.compile(r"^>\s*\d*\s+(.*)$", re.MULTILINE)
"""Matches the line, marked with `>` in an excerpt of a test, at which the test failed."""
_AGAIN, _BODIES = "Write no explanation.", "Write the body of each function."
_CHANGE = "The code above is wrong or incomplete; change it."
_NAMES = {Language.PYTHON: "Python", Language.JAVASCRIPT: "JavaScript", Language.GO: "Go"}
_TEXTS = (".md", ".rst", ".txt")
_PART = "Answer with the new or changed function or class of {} alone, in one fenced Python block."
_HEAD = "Phase: {}\n\nYou write the code that the user asks for.\n"
"""System text of requests that do more than ask for code once."""
_TESTS = (
    "The code of this task is written already; you see what it offers. Write tests for it with {}. Take each expected "
    "value from the words above, and test nothing that they leave open. {} tests are enough."
)
_RUNNERS = {Language.PYTHON: "pytest", Language.JAVASCRIPT: "node:test and node:assert", Language.GO: "testing"}
_MOST_TESTS = "Five"


class Approach(StrEnum):
    """How the next answer is made: as the first one, as an edit of the previous answer, or as a fresh start."""

    FIRST = "first"
    MEND = "mend"
    AFRESH = "afresh"


def choose_temperature(approach: Approach, iteration: int) -> float:
    """Return the temperature of an answer.

    A fresh answer must differ from all earlier ones, so its temperature rises with each iteration, and stays below 1.
    """
    bold = round(1 - 0.2 * 0.8 ** (iteration - 2), 4)
    mend = 0.4 if iteration % MENDS_AT == 0 else bold
    return {Approach.FIRST: 0.0, Approach.MEND: mend, Approach.AFRESH: bold}[approach]


def is_plain(context: AttemptContext, state: AttemptState, services: AgentServices, phase: Phase) -> bool:
    """Check whether a phase asks in plain words: the model needs it, and the task names few short files.

    Reads the files, so do not call it on the event loop.
    """
    if not services.gauge(phase, state.escalation).profile.is_plain or context.split:
        return False
    view = View(services.tree, state.change)
    named = [path for path in list_named_paths(context.task.spec.description) if not is_test_path(path)]
    paths = list_targets(context, state, view, lambda: surroundings(context, state, view, services.symbol_cache))
    if max(len(paths), len(set(named))) > MOST_FILES:
        return False
    longest = max(((view.text(path) or "").count("\n") for path in paths), default=0)
    return longest <= WHOLE_FILE_LINES or bool(_find_part(context, paths, view))


def list_targets(
    context: AttemptContext, state: AttemptState, view: View, find_near: Callable[[], Surroundings]
) -> Sequence[str]:
    """List the files to ask for: the expected files, or else the file of the owner's repository that fits best.

    A small model cannot choose among files that it does not see. If no file is named, the model invents one. For a task
    that asks for documentation alone, the files are the named pages.
    """
    spec = context.task.spec
    if asks_for_documents(spec) and (pages := list_named_pages(spec.description)):
        return pages
    expected = list_expected_files(context, state, view)
    if expected or not context.whole_tree:
        return expected
    return [path for path in find_near().matter if not is_test_path(path)][:1]


def _find_part(context: AttemptContext, paths: Sequence[str], view: View) -> str:
    """Return the path of the one long Python file of which only some functions are requested; "" for whole files.

    Functions are requested only if the task names something that is, or will be, defined in that file.
    """
    path = paths[0] if len(paths) == 1 and paths[0].endswith(".py") else ""
    text, words = (path and view.text(path)) or "", context.task.spec.description
    is_named = _DEFINED.search(words) or quote_definitions(text, " ".join(_WORD.findall(words)))
    return path if text.count("\n") > PART_LINES and is_named else ""


def choose_approach(context: AttemptContext, state: AttemptState) -> Approach:
    """Choose how an iteration begins: with fresh code or, at every fourth iteration, with an edit of the last code.

    When a small model is shown code, it more often repeats the code than repairs it. Code is edited only if it was
    judged, and the same code only once. If an answer left the files unchanged, the next prompt shows the failure
    instead of asking afresh.
    """
    if not state.feedback:
        return Approach.FIRST
    if state.verdict is None or not state.seen:
        return Approach.AFRESH
    is_due = state.seen.count(state.seen[-1]) == 1 and state.iteration % MENDS_AT == 0
    is_unchanged = not _own_files(context, state) and state.seen[-1] == digest(state.change, state.own_tests)
    return Approach.MEND if is_due or is_unchanged else Approach.AFRESH


def _own_files(context: AttemptContext, state: AttemptState) -> set[str]:
    """Return the paths that the agent wrote itself."""
    given = context.task.spec.files
    return {path for path, text in state.change.items() if path not in LAID_OUT and text != given.get(path)}


def start(context: AttemptContext, state: AttemptState, tree: Tree) -> AttemptState:
    """Return the state that the next answer begins from.

    For a fresh answer, the change is as before the first answer: the owner's files and the standard files of every
    project.
    """
    if choose_approach(context, state) is not Approach.AFRESH:
        return state
    beginnings = {path: text for path, text in state.change.items() if path in LAID_OUT}
    return replace(state, change=settle(tree, {**beginnings, **context.task.spec.files}))


def coding_prompt(about: sections.PromptContext) -> Prompt:
    """Return the request for a task's files: the owner's words, the existing files, the failure, and what to send."""
    paths = list_targets(about.context, about.state, about.view, lambda: about.near)
    approach = choose_approach(about.context, about.state)
    own = _own_files(about.context, about.state) if approach is Approach.MEND else ()
    part = _find_part(about.context, paths, about.view)
    files = partial(_show_part, about, part, own) if part else partial(_files, about, paths, own)
    parts = [
        replace(sections.the_task(about), title="", fill=lambda space: _words(about, space)),
        sections.the_answers(about),
        sections.the_conventions(about),
        Section(title="", fill=files, rank=9),
        *([fix("", _failure(about.state), rank=2)] if approach is Approach.MEND else []),
        fix("", " ".join(_place_new(path, about) for path in paths if path not in about.view).strip(), rank=1),
        fix("", (_PART.format(part) if part else _request(about.context, paths)) + _put_off_tests(about), rank=0),
    ]
    heat = choose_temperature(approach, about.state.iteration)
    head = _HEAD.format(Phase.CODING) if approach is Approach.MEND else ""
    return replace(_compose(about, head, parts, heat), paths=tuple(paths), part_of=part)


def tests_prompt(about: sections.PromptContext, code: Section, path: str) -> Prompt:
    """Return the request for the agent's own tests; `code` shows the interface of the change, without bodies."""
    state, runner = about.state, _RUNNERS[about.context.task.spec.language]
    if sections.uses_django(about.context, about.services.tree):
        runner = "django.test.TestCase"
    earlier = "\n\n".join(f"You wrote {name}:\n\n{_indent(text)}" for name, text in state.own_tests.items())
    complaint = f"These tests cannot be used:\n\n{_indent(state.feedback[:_FAILURE_CHARS])}" if earlier else ""
    parts = [
        replace(sections.the_task(about), title="", fill=lambda space: _words(about, space)),
        sections.the_answers(about),
        code,
        *(fix("", text, share=0.25, rank=3) for text in (earlier, complaint)),
        fix("", _TESTS.format(runner, _MOST_TESTS) + _name_modules(about.state, path), rank=0),
        fix("", _request(about.context, [path]), rank=0),
    ]
    heat = choose_temperature(Approach.AFRESH, 1) if earlier else 0.0
    return _compose(about, _HEAD.format(Phase.TESTING), parts, heat)


def _name_modules(state: AttemptState, test: str) -> str:
    """Say how to import the changed modules, if a small model is likely to get this wrong.

    It imports a module of a `src` layout with `src` as a package, and a script from the root instead of the folder of
    the test, by its default export.
    """
    changed = {path: text for path, text in state.change.items() if text is not None}
    if scripts := {path: text for path, text in changed.items() if is_source(path)}:
        lines = [_import_script(path, text, posixpath.dirname(test)) for path, text in scripts.items()]
        return " ".join((' Begin with: import test from "node:test";', *lines))
    inside = [path for path in changed if path.endswith(".py") and "/src/" in f"/{path}"]
    modules = [path.rpartition("src/")[2].removesuffix(".py").removesuffix("/__init__") for path in inside]
    return f" Import from {', '.join(modules)}.".replace("/", ".") if modules else ""


def _import_script(path: str, text: str, folder: str) -> str:
    """Write the import of a script's named exports, or of all of it, for a test in this folder."""
    names = ", ".join(list_exports(path, text))
    location = posixpath.relpath(path, folder)
    location = location if location.startswith("../") else f"./{location}"
    return f'import {{ {names} }} from "{location}";' if names else f'import code from "{location}";'


def _place_new(path: str, about: sections.PromptContext) -> str:
    """Name the Go package or the kind of JavaScript module of a new file, which a small model guesses from its name."""
    view, folder = about.view, posixpath.dirname(path)
    if golang.is_source(path):
        beside = (near for near in view.paths() if posixpath.dirname(near) == folder and golang.is_source(near))
        texts = (view.text(near) or "" for near in beside if not golang.is_test(near))
        name = next(filter(None, (golang.package(golang.parse(text)) for text in texts)), "")
        return f"{path} belongs to package {name}." if name else ""
    if is_source(path) and '"type":"module"' in re.sub(r"\s", "", view.text("package.json") or ""):
        return f"{path} is an ES module: it uses import and export."
    return ""


def _compose(about: sections.PromptContext, head: str, parts: Sequence[Section], heat: float) -> Prompt:
    prompt = sections.join_parts(about, Message(role="system", text=head), parts)
    *before, last = prompt.messages
    messages = (*before, replace(last, text=last.text.rstrip()))
    return replace(prompt, messages=messages, explores=False, is_plain=True, temperature=heat)


def ask_again(first: Prompt, number: int, lack: str = "") -> Prompt:
    """Repeat a request whose answer held no file, or of which `name_lack` names a lack.

    The temperature rises with each repeat. The answer is left out, because the model would copy it.
    """
    *before, last = first.messages
    again = replace(last, text=f"{last.text} {lack or _AGAIN}")
    left = 1 - (first.temperature or 0.0)
    return replace(first, messages=(*before, again), temperature=round(1 - 0.2 * left / number, 4))


def name_lack(texts: Sequence[str], *, is_unchanged: bool) -> str:
    """Return the sentence that asks for what an answer lacks; empty if it lacks nothing.

    Args:
        texts: the files of the answer.
        is_unchanged: true if the answer leaves all files as they are, and no test is there to show what is wrong.
    """
    if any(map(is_shell, texts)):
        return _BODIES
    return _CHANGE if is_unchanged else ""


def _words(about: sections.PromptContext, space: int) -> Shown:
    text, cut = clip(about.context.task.spec.description.strip(), space, about.gauge)
    return Shown(text=text, cut=cut)


def _files(about: sections.PromptContext, paths: Sequence[str], own: Collection[str], space: int) -> Shown:
    """Show the files to change as quotations; for a file in `own`, the prompt says that the model wrote it."""
    spec = about.context.task.spec
    described = list_named_paths(spec.description) if asks_for_documents(spec) else []
    texts = {path: text for path in (*described, *paths) if (text := about.view.text(path)) is not None}
    heads = {path: "You wrote this as" if path in own else "This is" for path in texts}
    shown = "\n\n".join(f"{heads[path]} {path}:\n\n{_indent(text)}" for path, text in texts.items())
    return Shown(text=shown, in_full=tuple(texts)) if about.gauge.tokens(shown) <= space else Shown(named=tuple(texts))


def _show_part(about: sections.PromptContext, path: str, own: Collection[str], space: int) -> Shown:
    """Show the definitions of a long file that the task names, or the file's signatures if the task names none."""
    text = about.view.text(path) or ""
    words = " ".join(_WORD.findall(about.context.task.spec.description))
    quoted = quote_definitions(text, words)
    who = "You wrote this in" if path in own else "This stands in"
    head = f"{who} {path}" if quoted else f"{path} defines"
    content = quoted or "\n".join(signatures(text))
    shown, cut = clip(f"{head}:\n\n{_indent(content)}", space, about.gauge)
    return Shown(text=shown, outlined=(path,), cut=cut)


def _put_off_tests(about: sections.PromptContext) -> str:
    """Say that tests come later if the task mentions tests; a small model would append them to the code."""
    spec = about.context.task.spec
    return f" {_LATER}" if _TEST.search(spec.description) and not spec.tests else ""


def _indent(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _failure(state: AttemptState) -> str:
    """Describe the failure of the last answer."""
    failure = next(iter(state.verdict.failures), None) if state.verdict else None
    line = _failing_line(failure) if failure else ""
    text = f"{line}\n{failure.kind}: {failure.message}".strip() if failure else state.feedback
    return f"It is wrong:\n\n{_indent(text[:_FAILURE_CHARS])}\n\nFind the mistake."


def _failing_line(failure: Failure) -> str:
    """Return the line at which the test failed; empty if it is unknown."""
    match = _MARKED.search(failure.excerpt)
    return match[1].strip() if match else ""


def _request(context: AttemptContext, paths: Sequence[str]) -> str:
    """Return the closing words of a prompt that asks for whole files."""
    is_text = any(path.endswith(_TEXTS) for path in paths)
    language = "" if is_text else _NAMES.get(context.task.spec.language, "")
    block = f"in one fenced {language} block".replace("  ", " ")
    if len(paths) == 1:
        return f"Answer with the whole file {paths[0]} {block} and nothing else."
    if paths:
        return f"Answer with the whole files {' and '.join(paths)}, each {block} below a line with its path."
    return f"Choose the file's path. Answer with a line that holds the path, below it the whole file {block}."
