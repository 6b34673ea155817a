"""Which requests the engine can do anything about, and the problem that such a request sets."""

from __future__ import annotations

from dataclasses import asdict

from core.dialogue import BUILT_IN, Material, ModelRequest
from core.paths import is_test_path
from core.states import Phase
from core.tasks import Change, Files, Language
from repair.evaluation import TrialJob
from repair.problem import settled

ANSWERED = frozenset({Phase.PLANNING, Phase.CODING, Phase.REFLECTING})


def why_unfit(request: ModelRequest) -> str:
    """Why the engine cannot help here, in a sentence that may follow a colon; empty where it may try."""
    if request.material is None:
        return "it works on the code of a task, and this request brings none"
    spec = request.material.context.task.spec
    if spec.language is not Language.PYTHON:
        return f"it repairs Python, and the task is in {spec.language}"
    if request.phase is Phase.CODING and request.call_no:
        return "its change was not taken, and it has no other words for it"
    if request.escalation:
        return "what it found was refused again and again, so that another mind is needed"
    if not (spec.tests or spec.test_command):
        return "the task brings no tests that it may see, and without them nothing tells right from wrong"
    if not _has_code(request.material):
        return "there is no Python code that it could change, nor a stub that it could fill"
    if request.phase not in ANSWERED:
        return f"it changes code until tests pass and writes nothing else, so it has no answer in {request.phase}"
    return ""


def job_of(material: Material, start: Change) -> TrialJob:
    """Where trials take place: the task's tree with a change on top, judged by the tests that a model may see."""
    case, work = material.context, material.state
    spec = case.task.spec
    return TrialJob(
        base=material.tree,
        change=start,
        tests=case.shown_tests,
        command=spec.test_command,
        start=spec.files,
        packages=work.packages,
        whole_tree=case.whole_tree,
        **asdict(case.run_limits),
    )


def whole_tests(material: Material) -> Files:
    """The tests with what is held out of them; empty where nothing is."""
    case = material.context
    return case.task.spec.tests if case.held.shown else {}


def first_change(material: Material) -> Change:
    """The change to begin with where nothing is remembered.

    What the engine itself wrote in an earlier life of the daemon passed all tests that it may see, so there is nothing
    to learn from it: it begins with what the owner gave.
    """
    work, tree = material.state, material.tree
    ours = bool(work.models) and set(work.models) == {BUILT_IN}
    return settled(tree, material.context.task.spec.files if ours else work.change)


def _has_code(material: Material) -> bool:
    removed = {path for path, text in material.state.change.items() if text is None}
    tests = material.context.task.spec.tests
    paths = {*material.tree.entries(), *material.state.change} - removed - set(tests)
    return any(path.endswith(".py") and not is_test_path(path) for path in paths)
