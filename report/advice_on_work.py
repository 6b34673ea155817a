"""Rules on the work itself: what fails, what waits, what it costs, and whether it gets better."""

from __future__ import annotations

from core.shares import Share, difference
from core.states import Ending, Status
from core.verdicts import Label
from report.document import Line, code, line
from report.figures import Summary
from report.learning import ENOUGH
from report.wording import cut, duration, many, number, percent, share_of, usd

_FREE = {"ollama", "gpt4all", "repair"}
"""Backends of the owner's own machine."""
_MENDS = {
    Ending.TIMEOUT: "raise TASK_TIMEOUT, or limits.wall_s of these tasks",
    Ending.BUDGET: "raise the budgets, or split these tasks",
    Ending.STUCK: "give these tasks tests and smaller steps, or a stronger model",
    Ending.GAVE_UP: "give these tasks tests and smaller steps, or a stronger model",
    Ending.CRASHED: "look at cli.py --logs --level ERROR; a task that kills its daemon is set aside",
    Ending.REFUSED: "look at their reasons; a repository, branch or model that they name was not accepted",
    Ending.ERROR: "look at cli.py --logs --level ERROR",
    Ending.DEPENDENCY: "mend the tasks that they depend on, then retry them",
}


def _failing(summary: Summary) -> Line | None:
    tasks = summary.tasks
    failed = tasks.count(Status.FAILED)
    if tasks.ended < 5 or failed / tasks.ended < 0.3:
        return None
    text = f"{share_of(failed, tasks.ended)} of the tasks that ended have failed."
    endings = {ending: n for ending, n in tasks.by_ending.items() if ending in _MENDS}
    if not endings:
        return line(text)
    commonest = max(endings, key=lambda ending: endings[ending])
    reason = f" ({number(endings[commonest])} tasks): {_MENDS[commonest]}."
    return line(f"{text} The commonest reason is ", code(commonest), reason)


def _worse(summary: Summary) -> Line | None:
    now, before = summary.tasks.success, [point.success for point in summary.trend[:-1]]
    usual = Share(part=sum(share.part for share in before), whole=sum(share.whole for share in before))
    if min(now.whole, usual.whole) < ENOUGH or difference(now, usual).high >= 0:
        return None
    return line(
        f"Success fell to {percent(now)} from {percent(usual)} in the spans before, more than chance explains: "
        "look at what failed, and at what changed in models, settings and kinds of tasks."
    )


def _waiting(summary: Summary) -> Line | None:
    wait, work = summary.tasks.queue_wait_s.median, summary.tasks.duration_s.median
    if summary.tasks.ended < 5 or wait < 60 or wait < 2 * work:
        return None
    return line(
        f"Tasks waited {duration(wait)} for a worker and were worked on for {duration(work)} (medians): raise ",
        code("WORKER_COUNT"),
        " if machine and model have room.",
    )


def _many_tries(summary: Summary) -> Line | None:
    done, first = summary.tasks.count(Status.DONE), summary.tasks.first_try
    if done < 5 or first / done >= 0.4:
        return None
    return line(
        f"Only {share_of(first, done)} of the finished tasks passed at the first try: "
        "tests or files given with a task, or a stronger model for PLANNING and CODING, save iterations."
    )


def _unsteady_backend(summary: Summary) -> Line | None:
    answered = dict[str, int]()
    for model in summary.usage.models:
        answered[model.backend] = answered.get(model.backend, 0) + model.calls
    for backend, failed in summary.usage.failures().items():
        asked = failed + answered.get(backend, 0)
        if failed >= 5 and failed / asked > 0.1:
            told = f" failed {number(failed)} of {number(asked)} calls: look at "
            return line("Backend ", code(cut(backend, 40)), told, code("cli.py --logs --level WARNING"), ".")
    return None


def _unpriced(summary: Summary) -> Line | None:
    dear = [model for model in summary.usage.models if model.backend not in _FREE and model.cost.unpriced_tokens]
    if not dear:
        return None
    most = max(dear, key=lambda model: model.cost.unpriced_tokens)
    told = f"{number(most.cost.unpriced_tokens)} tokens of "
    return line(
        told, code(cut(most.model, 60)), " have no price: set ", code("model_prices"), ", so that budgets count them."
    )


def _dearer(summary: Summary) -> Line | None:
    now, before = summary.trend[-1], [point for point in summary.trend[:-1] if point.began and point.done]
    spent, done = sum(point.cost.usd for point in before), sum(point.done for point in before)
    if now.done < 5 or done < ENOUGH or not spent or now.cost.usd / now.done < 1.5 * spent / done:
        return None
    return line(
        f"A finished task cost {usd(now.cost.usd / now.done)}, against {usd(spent / done)} in the spans before: "
        "look at which model answered, and whether tasks needed more iterations."
    )


def _budget(summary: Summary) -> Line | None:
    reached = summary.usage.budgets
    if not reached:
        return None
    most = max(reached, key=lambda name: reached[name])
    return line(
        f"Budgets were reached {many(sum(reached.values()), 'time')}, most often that of ", code(cut(most, 40)),
        ": the work is parked, not lost; raise it or let it wait.",
    )  # fmt: skip


def _idle_scout(summary: Summary) -> Line | None:
    engine = summary.usage.engine
    if engine.declined < 20 or engine.declined_s < 600 or engine.saved / (engine.declined + engine.saved) > 0.05:
        return None
    return line(
        f"The built-in engine was asked before a model and saved "
        f"{share_of(engine.saved, engine.declined + engine.saved)} of these replies; its vain searches took "
        f"{duration(engine.declined_s)}: lower ", code("REPAIR_FIRST_S"), ", or set it to 0.",
    )  # fmt: skip


def _own_tests(summary: Summary) -> Line | None:
    own, commits = summary.commits.labels.get(Label.SELF_TESTED, 0), summary.commits.total.commits
    if commits < 5 or own / commits <= 0.5:
        return None
    return line(
        f"{share_of(own, commits)} of the commits rest on tests that the agent wrote itself: "
        "tests given with a task make its verdict independent."
    )


def _unsolved(summary: Summary) -> Line | None:
    for pattern in summary.learning.patterns:
        if pattern.tasks >= 3 and not pattern.solved:
            told = f" was met in {number(pattern.tasks)} tasks and never mended: say in a task how to avoid it."
            return line("The failure ", code(cut(pattern.signature, 80)), told)
    return None


def _useless_memory(summary: Summary) -> Line | None:
    uplift = summary.learning.uplift
    found = uplift.solved
    if not uplift.enough or found is None or found.high >= 0:
        return None
    return line(
        f"Attempts that were to see lessons were solved in {percent(uplift.shown.solved)}, those that saw none by lot "
        f"in {percent(uplift.control.solved)}: try fewer lessons (", code("RECALL_LIMIT"), ") and compare.",
    )  # fmt: skip


RULES = (
    _failing, _worse, _waiting, _many_tries, _unsteady_backend, _unpriced, _dearer, _budget, _idle_scout, _own_tests,
    _unsolved, _useless_memory,
)  # fmt: skip
