"""Decides whether proposed changes of existing tests are accepted, and who must agree to them.

A model may propose such changes if tests of the repository contradict the task. A test may be changed only if the
change of the code breaks it. Each proposed test file is therefore first run in its old form, and every test that passes
there must stay word for word. If only the agent has ever written the file, the failing tests may then be changed. For
any other file the owner is asked and sees the diff, unless the task's `allow` or the settings already decide. The
owner's agreement covers exactly that text. An accepted change becomes one of the agent's own tests: it must fail
without the change of the code, and is judged, committed and verified like the other own tests.

A test file may be removed if the task asks to remove the code that the file tests. All tests of the file must be about
the removed code, as shown by the way they fail or by the names that they use. The same agreement is needed, and the
remaining suite judges the change.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial

from nightshift.agent.kinds import asks_to_take_away
from nightshift.agent.services import AgentServices
from nightshift.agent.suite_job import job_for
from nightshift.agent.view import View, base_text
from nightshift.core.code.paths import is_named
from nightshift.core.code.tree import Tree, text_of
from nightshift.core.events import DroppedData, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.projects import LAID_OUT
from nightshift.core.tasks.task import Change
from nightshift.core.tasks.verdicts import Finding, FindingKind, Result, Trial
from nightshift.core.text.masking import printable

MOST_DIFF_CHARS = 6000
"""Maximum number of characters of a diff in a question to the owner, because nobody reads a longer diff before
agreeing. A changed file with a longer diff is rejected; the diff of a removed file is cut to this length.
"""
_SUBJECT = "test"
_CORRECTS = re.compile(
    r"(?:^|[.,;:!?]|\band|\bthen|\bplease)\s*(?:correct|update|adjust|change|rewrite|edit)"
    r"\s+(?:(?:the|this|that|its|our)\s+)?(?:tests?\b(?!/|\.\w)|`?(?:[\w-]+/)*test_)",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a demand to change tests; a failing test that is only named does not count as one."""
_FORBIDS = re.compile(r"\b(?:not|never|without|no|only)\b|n['’]t\b", re.IGNORECASE)
_MOVES = re.compile(r"\b(?:renam|mov)(?:e[sd]?|ing)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The decisions on the proposed changes of existing tests.

    Attributes:
        state: the attempt; its own tests include the accepted changes.
        asks: the questions to the owner.
        left_out: path to reason for each rejected file.
        failed: the trial of the unchanged tests, if the code change breaks tests of a rejected file. No further run is
            needed then.
    """

    state: AttemptState
    asks: tuple[Ask, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    failed: Trial | None = None


async def settle(context: AttemptContext, state: AttemptState, services: AgentServices) -> Settled:
    """Decide on the changes of existing tests that a model proposed together with a change of the code.

    Raises:
        SandboxError: the unchanged tests could not be run.
    """
    own = state.written_tests
    state = replace(state, own_tests=own, removed_tests=())
    wanted = {path: text for path, text in state.test_changes.items() if text != text_of(services.tree, path)}
    if not wanted:
        return Settled(state=state)
    trial = await services.suite.try_out(replace(job_for(context, state, services), only=tuple(sorted(wanted))))
    broken, languages = trial.failing | set(trial.before), services.languages
    now = View(services.tree, wanted)
    taken, asks, left_out, failed = dict[str, str | None](), list[Ask](), dict[str, str](), False
    for path, text in sorted(wanted.items()):
        before, shown = base_text(services.tree, path) or "", now.text(path) or ""
        failing = {name.partition("::")[2].partition("[")[0] for name in broken if name.partition("::")[0] == path}
        passed = any(
            result.result is Result.PASSED and result.id.partition("::")[0] == path for result in trial.results
        )
        is_added, words = False, context.task.spec.description
        about = (failing, state.change, partial(base_text, services.tree))
        if languages is None:
            why = "is a test of the repository, and nothing here can read it"
        elif text is None:
            why = _describe_ban(context, state, services) or languages.refuse_removal(
                path, before, *about, passed=passed
            )
        elif is_added := is_named(path, words) and languages.only_adds_tests(path, before, shown):
            why = ""
        else:
            why = languages.refuse_change(path, before, shown, *about)
        if why := why or _describe_denial(context, path, services):
            left_out[path] = why
            failed |= bool(failing)
        elif is_added or _is_granted(context, state, services, path, _subject(path, text, before)):
            taken[path] = text
        elif len(diff := _diff(path, before, shown)) > MOST_DIFF_CHARS and text is not None:
            left_out[path] = "changes more than its owner could be asked about; change the failing tests alone"
            failed = True
        else:
            asks.append(
                Ask(
                    kind=AskKind.FINDING,
                    subject=_subject(path, text, before),
                    question=_question(path, text, _cut(diff, f"{state.base[:12]}:{state.scope.full(path)}")),
                )
            )
    _report(services, left_out)
    changed = {path: text for path, text in taken.items() if text is not None}
    removed = tuple(path for path, text in taken.items() if text is None)
    state = replace(state, own_tests={**own, **changed}, removed_tests=removed)
    return Settled(state=state, asks=() if failed else tuple(asks), left_out=left_out, failed=trial if failed else None)


def ask_about(
    context: AttemptContext, state: AttemptState, services: AgentServices, findings: Sequence[Finding]
) -> tuple[Ask, ...]:
    """Return a question with the diff for each test asset that a change touches and the owner has not yet allowed.

    Args:
        context: the attempt's context.
        state: the attempt's state with the change.
        services: the services to read the base with.
        findings: a verdict's findings that the owner must decide.
    """
    now, asks = View(services.tree, state.change), list[Ask]()
    for finding in findings:
        is_asset = finding.kind is not FindingKind.GONE  # no rule allows tests to run with fewer cases
        if finding.subject in context.granted or (is_asset and _is_allowed(context, state, services, finding.where)):
            continue
        before, text = base_text(services.tree, finding.where) or "", now.text(finding.where) or ""
        diff = _cut(_diff(finding.where, before, text), f"{state.base[:12]}:{state.scope.full(finding.where)}")
        question = f"{finding.says}\n\n{diff}".rstrip()
        asks.append(Ask(kind=AskKind.FINDING, subject=finding.subject, question=question))
    return tuple(asks)


def propose(before: Change, now: Change, tree: Tree) -> Change:
    """Return the proposed changes of tests after a step.

    A proposal that the step withdrew stays in the result with the base's text, which proposes no change.
    """
    return {path: now[path] if path in now else text_of(tree, path) for path in sorted({*before, *now})}


def _describe_ban(context: AttemptContext, state: AttemptState, services: AgentServices) -> str:
    """Return why this task may not remove a test even with the owner's consent; empty if it may."""
    words = context.task.spec.description
    if not asks_to_take_away(context.task.spec) or _MOVES.search(words):
        return "is a test of the repository, and the task does not ask to remove what it tests; change it instead"
    old = services.tree.entries()
    new = {path for path, text in state.change.items() if text is not None and path not in {*old, *state.declared}}
    return f"stays while the change adds files ({', '.join(sorted(new)[:5])})" if new - set(LAID_OUT) else ""


# These functions decide whether a change of an existing test is permitted: because the agent wrote the test, or because
# the owner, the task or the settings permit it.


def _is_granted(context: AttemptContext, state: AttemptState, services: AgentServices, path: str, subject: str) -> bool:
    # Only for Python can the program check that passing tests stay unchanged. In other languages the owner must judge
    # what a change loses, even if the agent wrote the file.
    own = path.endswith(".py") and services.wrote(state.scope.full(path))
    words = context.task.spec.description
    corrects = is_named(path, words) and _CORRECTS.search(words) and not _FORBIDS.search(words)
    return bool(own or corrects or subject in context.granted or _is_allowed(context, state, services, path))


def _is_allowed(context: AttemptContext, state: AttemptState, services: AgentServices, path: str) -> bool:
    """Check whether the settings or the task's `allow` rules permit changes of this test asset."""
    rules = [rule for rule in context.task.spec.allow if "/" in rule]
    named = any(fnmatchcase(each, rule) for rule in rules for each in {path, state.scope.full(path)})
    return named or services.settings.change_tests == "allow"


def _describe_denial(context: AttemptContext, path: str, services: AgentServices) -> str:
    if services.settings.change_tests == "keep":
        return "is a test of the repository; the settings keep these as they are"
    if any(subject.startswith(f"{_SUBJECT}:{path}:") for subject in context.denied):
        return "is a test that its owner keeps as it is"
    return ""


def _subject(path: str, text: str | None, before: str) -> str:
    content_hash = hashlib.sha256((before if text is None else text).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_SUBJECT}:{path}:{'gone-' if text is None else ''}{content_hash}"


def _question(path: str, text: str | None, diff: str) -> str:
    if text is None:
        return f"The change removes the code that {path} tests. May the agent remove this test file?\n\n{diff}"
    return f"The change breaks {path}. May the agent change this test as follows?\n\n{diff}"


def _diff(path: str, before: str, text: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), path, path, lineterm="", n=2)
    return printable("\n".join(lines))


def _cut(diff: str, git_object: str) -> str:
    """Return a diff; if it is too long, return its start and the git command that shows the whole file."""
    if len(diff) <= MOST_DIFF_CHARS:
        return diff
    shown = diff[:MOST_DIFF_CHARS].rpartition("\n")[0]
    more = diff[len(shown) :].count("\n")
    return f"{shown}\n\nand {more} more lines; `git show {git_object}` shows the whole file"


def _report(services: AgentServices, left_out: Mapping[str, str]) -> None:
    if left_out:
        text = f"the agent rejected changes of existing tests: {', '.join(list(left_out)[:5])}"
        data = DroppedData(dropped=dict(list(left_out.items())[:20]))
        services.events.emit(Kind.FILES_DROPPED, text, level=Level.WARNING, **data)
