"""Advice based on the report's figures. Each rule checks one figure and quotes it in its text."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from nightshift.core.events import Kind
from nightshift.core.program import format_command
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.verdicts import Label
from nightshift.core.text.formats import duration
from nightshift.report.figures import Summary
from nightshift.report.markup import code, sentence
from nightshift.report.risk import Level
from nightshift.report.wording import cut, many, number, percent, share_of

Rule = Callable[[Summary], Markup | None]

_FREE = {"ollama", "gpt4all", "llama_cpp", "repair"}
"""Backends that run on the owner's own machine, so that their tokens cost nothing."""
_REMEDIES = {
    Ending.TIMEOUT: "raise TASK_TIMEOUT, or limits.wall_s of these tasks",
    Ending.BUDGET: "raise the budgets, or split these tasks",
    Ending.STUCK: "give these tasks tests and smaller steps, or a stronger model",
    Ending.GAVE_UP: "give these tasks tests and smaller steps, or a stronger model",
    Ending.CRASHED: f"look at {format_command('logs --level ERROR')}; a task that kills its daemon is set aside",
    Ending.REFUSED: "look at their reasons; a repository, branch or model that they name was not accepted",
    Ending.ERROR: f"look at {format_command('logs --level ERROR')}",
    Ending.DEPENDENCY: "fix the tasks that they depend on, then retry them",
}


def recommendations(summary: Summary) -> list[Markup]:
    """List the advice that follows from the figures, most urgent first; each piece quotes its figure."""
    return [advice for rule in RULES if (advice := rule(summary))]


def _regressions(summary: Summary) -> Markup | None:
    count = summary.happened(Kind.REGRESSION)
    if not count:
        return None
    return sentence(
        "{}: tests that passed before have failed since commits at the top of the list below; "
        f"`{format_command('logs --level ERROR')}` names the tests.",
        many(count, "regression"),
    )


def _high_risk(summary: Summary) -> Markup | None:
    waiting = [ranked for ranked in summary.commits.ranked if not ranked.decided and ranked.level is Level.HIGH]
    if not waiting:
        return None
    first = waiting[0]
    return sentence(
        "{} of high risk unread: begin with that of task {} ({} points, {}).",
        many(len(waiting), "commit"), first.commit.task_id, first.points, first.reasons[0].text,
    )  # fmt: skip


def _trouble(kind: Kind, noun: str, more: str, remedy: str) -> Rule:
    def rule(summary: Summary) -> Markup | None:
        count = summary.happened(kind)
        return sentence("{}: {}", many(count, noun, more), remedy) if count else None

    return rule


def _failing(summary: Summary) -> Markup | None:
    tasks = summary.tasks
    failed = tasks.count(Status.FAILED)
    if tasks.ended < 5 or failed / tasks.ended < 0.3:
        return None
    endings = {ending: n for ending, n in tasks.by_ending.items() if ending in _REMEDIES}
    text = sentence("{} of the tasks that ended have failed.", share_of(failed, tasks.ended))
    if not endings:
        return text
    commonest = max(endings, key=lambda ending: endings[ending])
    return sentence(
        "{} The commonest reason is {} ({} tasks): {}.",
        text, code(commonest), number(endings[commonest]), _REMEDIES[commonest],
    )  # fmt: skip


def _waiting(summary: Summary) -> Markup | None:
    wait, work = summary.tasks.queue_wait_s.median, summary.tasks.duration_s.median
    if summary.tasks.ended < 5 or wait < 60 or wait < 2 * work:
        return None
    return sentence(
        "Tasks waited {} for a worker and were worked on for {} (medians): raise `WORKER_COUNT` if machine and model "
        "have capacity.",
        duration(wait), duration(work),
    )  # fmt: skip


def _unsteady_backend(summary: Summary) -> Markup | None:
    answered = dict[str, int]()
    for model in summary.usage.models:
        answered[model.backend] = answered.get(model.backend, 0) + model.calls
    for backend, failed in summary.usage.failures().items():
        asked = failed + answered.get(backend, 0)
        if failed >= 5 and failed / asked > 0.1:
            form = "Backend {} failed {} of {} calls: look at " + f"`{format_command('logs --level WARNING')}`."
            return sentence(form, code(cut(backend, 40)), number(failed), number(asked))
    return None


def _tokens_without_price(summary: Summary) -> Markup | None:
    dear = [model for model in summary.usage.models if model.backend not in _FREE and model.cost.unpriced_tokens]
    if not dear:
        return None
    most = max(dear, key=lambda model: model.cost.unpriced_tokens)
    form = "{} tokens of {} have no price: set `model_prices`, so that budgets count them."
    return sentence(form, number(most.cost.unpriced_tokens), code(cut(most.model, 60)))


def _budget(summary: Summary) -> Markup | None:
    reached = summary.usage.budgets
    if not reached:
        return None
    most = max(reached, key=lambda name: reached[name])
    form = "The budget of {} was reached {}: the work is paused, not lost; raise the budget or let the work wait."
    return sentence(form, code(cut(most, 40)), many(reached[most], "time"))


def _own_tests(summary: Summary) -> Markup | None:
    own, commits = summary.commits.labels.get(Label.SELF_TESTED, 0), summary.commits.total.commits
    if commits < 5 or own / commits <= 0.5:
        return None
    return sentence(
        "{} of the commits rest on tests that the agent wrote itself: tests given with a task make its verdict "
        "independent.",
        share_of(own, commits),
    )


def _open_pattern(summary: Summary) -> Markup | None:
    for pattern in summary.learning.patterns:
        if pattern.tasks >= 3 and not pattern.solved:
            form = "The failure {} occurred in {} tasks and was never fixed: say in a task how to avoid it."
            return sentence(form, code(cut(pattern.signature, 80)), number(pattern.tasks))
    return None


def _useless_memory(summary: Summary) -> Markup | None:
    uplift = summary.learning.uplift
    difference = uplift.solved
    if not uplift.enough or difference is None or difference.high >= 0:
        return None
    return sentence(
        "Attempts with lessons were solved in {}, those of the control group in {}: try fewer lessons "
        "(`RECALL_LIMIT`) and compare.",
        percent(uplift.shown), percent(uplift.control),
    )  # fmt: skip


RULES: tuple[Rule, ...] = (
    _regressions, _high_risk,
    _trouble(Kind.DATABASE_RESTORED, "restore of the database", "restores of the database",
             "look at the disk; what was written after the backup is not in these figures."),
    _trouble(Kind.BACKUP_FAILED, "backup failed", "backups failed", "look at the disk and the folder of backups."),
    _trouble(Kind.DISK_LOW, "time the disk was nearly full", "times the disk was nearly full",
             "make room, or keep less (keep_events_days, keep_work_days, database_max_mb)."),
    _trouble(Kind.NOTIFY_FAILED, "notice could not be sent", "notices could not be sent",
             "look at notify_command and notify_url."),
    _trouble(Kind.PUSH_FAILED, "push failed", "pushes failed", "look at the remote, or set GIT_AUTO_PUSH=false."),
    _trouble(Kind.INBOX_REJECTED, "fault in tasks.yaml", "faults in tasks.yaml",
             "its entry waits until that is fixed."),
    _failing, _waiting, _unsteady_backend, _tokens_without_price, _budget, _own_tests,
    _open_pattern, _useless_memory,
)  # fmt: skip
