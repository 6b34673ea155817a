"""What the figures suggest: each rule looks at one of them and names it in what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from core.events import Kind
from core.states import Ending, Status
from core.verdicts import Label
from weekly.figures import Summary
from weekly.wording import code, share, span

Rule = Callable[[Summary], str | None]


def recommendations(summary: Summary) -> list[str]:
    """What the figures suggest, each with the figure that it rests on."""
    return [advice for rule in RULES if (advice := rule(summary))]


def _failing(summary: Summary) -> str | None:
    tasks = summary.tasks
    failed = tasks.count(Status.FAILED)
    if tasks.ended < 5 or failed / tasks.ended < 0.3:
        return None
    endings = {ending: n for ending, n in tasks.by_ending.items() if ending in _MENDS}
    advice = f"{share(failed, tasks.ended)} of the tasks that ended have failed."
    if endings:
        commonest = max(endings, key=lambda ending: endings[ending])
        advice += f" The commonest reason is `{commonest}` ({endings[commonest]} tasks): {_MENDS[commonest]}."
    return advice


_MENDS = {
    Ending.TIMEOUT: "raise `TASK_TIMEOUT`, or `limits.wall_s` of these tasks",
    Ending.BUDGET: "raise the budgets, or split these tasks",
    Ending.STUCK: "give these tasks tests and smaller steps, or a stronger model",
    Ending.GAVE_UP: "give these tasks tests and smaller steps, or a stronger model",
    Ending.CRASHED: "look at `cli.py --logs --level ERROR`; a task that kills its daemon is set aside",
    Ending.REFUSED: "look at their reasons; a repository, branch or model that they name was not accepted",
    Ending.ERROR: "look at `cli.py --logs --level ERROR`",
    Ending.DEPENDENCY: "mend the tasks that they depend on, then retry them",
}


def _waiting(summary: Summary) -> str | None:
    wait, work = summary.tasks.queue_wait_s.median, summary.tasks.duration_s.median
    if summary.tasks.ended < 5 or wait < 60 or wait < 2 * work:
        return None
    return (
        f"Tasks waited {span(wait)} for a worker and were worked on for {span(work)} (medians): "
        "raise `WORKER_COUNT` if machine and model have room."
    )


def _many_tries(summary: Summary) -> str | None:
    done, first = summary.tasks.count(Status.DONE), summary.tasks.first_try
    if done < 5 or first / done >= 0.4:
        return None
    return (
        f"Only {share(first, done)} of the finished tasks passed at the first try: "
        "tests or files given with a task, or a stronger model for PLANNING and CODING, save iterations."
    )


def _unsteady_backend(summary: Summary) -> str | None:
    answered = Counter[str]()
    for model in summary.models:
        answered[model.backend] += model.calls
    for backend, failed in summary.backend_failures.items():
        if failed >= 5 and failed / (failed + answered[backend]) > 0.1:
            asked = failed + answered[backend]
            name = code(backend or "unknown")
            return f"Backend {name} failed {failed} of {asked} calls: look at `cli.py --logs --level WARNING`."
    return None


_FREE = {"ollama", "gpt4all", "repair"}
"""Backends of the owner's own machine."""


def _unpriced(summary: Summary) -> str | None:
    dear = (model for model in summary.models if model.backend not in _FREE)
    tokens = {model.model: model.unpriced_tokens for model in dear if model.unpriced_tokens}
    if not tokens:
        return None
    model = max(tokens, key=lambda name: tokens[name])
    return f"{tokens[model]} tokens of {code(model)} have no price: set `model_prices`, so that budgets count them."


def _idle_scout(summary: Summary) -> str | None:
    engine, looked = summary.engine, summary.engine.declined + summary.engine.saved
    if engine.declined < 20 or engine.declined_s < 600 or engine.saved / looked > 0.05:
        return None
    return (
        f"The built-in engine was asked before a model and saved {share(engine.saved, looked)} of these replies; "
        f"its vain searches took {span(engine.declined_s)}: lower `REPAIR_FIRST_S`, or set it to 0."
    )


def _own_tests(summary: Summary) -> str | None:
    own, commits = summary.commits.get(Label.SELF_TESTED, 0), sum(summary.commits.values())
    if commits < 5 or own / commits <= 0.5:
        return None
    return (
        f"{share(own, commits)} of the commits rest on tests that the agent wrote itself: "
        "tests given with a task make its verdict independent."
    )


def _unpushed(summary: Summary) -> str | None:
    failed = summary.happened(Kind.PUSH_FAILED)
    return f"{failed} pushes failed: look at the remote, or set `GIT_AUTO_PUSH=false`." if failed else None


def _inbox(summary: Summary) -> str | None:
    refused = summary.happened(Kind.INBOX_REJECTED)
    return f"`tasks.yaml` was refused with {refused} faults; its last good reading is in force." if refused else None


RULES: tuple[Rule, ...] = (
    _failing,
    _waiting,
    _many_tries,
    _unsteady_backend,
    _unpriced,
    _idle_scout,
    _own_tests,
    _unpushed,
    _inbox,
)
