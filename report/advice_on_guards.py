"""Rules on what needs the owner, and on the daemon: what to read, what to answer, what to mend on the machine."""

from __future__ import annotations

from collections.abc import Callable

from core.events import Kind
from core.queueing import PauseSource
from report.document import Line, code, line, of_task
from report.figures import Summary
from report.risk import Level
from report.wording import duration, many, number

Rule = Callable[[Summary], Line | None]

_LONG_WAIT_S = 8 * 3600


def _regressions(summary: Summary) -> Line | None:
    count = summary.happened(Kind.REGRESSION)
    if not count:
        return None
    told = f"{many(count, 'regression')}: tests that passed before fail since commits that lead the list below; "
    return line(told, code("cli.py --logs --level ERROR"), " names the tests.")


def _high_risk(summary: Summary) -> Line | None:
    waiting = [one for one in summary.commits.ranked if not one.decided and one.level is Level.HIGH]
    if not waiting:
        return None
    first = waiting[0]
    told = f"{many(len(waiting), 'commit')} of high risk unread: begin with that of "
    whose = of_task(first.commit.task_id, f"task {first.commit.task_id}")
    return line(told, whose, f" ({first.points} points, {first.reasons[0].text}).")


def _debt(summary: Summary) -> Line | None:
    unread, older = summary.commits.unread, summary.commits.unread_before
    if unread + older < 50 or older < unread:
        return None
    return line(
        f"{number(unread + older)} commits are unread, {number(older)} of them from earlier weeks: ",
        code("REVIEW_DEBT"), " makes new work wait for you, so that it cannot outgrow your reading.",
    )  # fmt: skip


def _slow_answers(summary: Summary) -> Line | None:
    asks = summary.guards.asks
    longest = max(asks.wait_s.median, asks.open_s.median)
    if asks.asked + asks.still_open < 3 or longest < _LONG_WAIT_S:
        return None
    return line(
        f"Questions waited {duration(longest)} for you (median): packages that you always allow belong into ",
        code("ALLOWED_DEPS"), ", rules that you always grant into ", code("checker_rules"), ".",
    )  # fmt: skip


def _killed(summary: Summary) -> Line | None:
    mends = {"ran too long": "SUITE_TIMEOUT_S", "used too much memory": "SANDBOX_MEMORY_MB"}
    for why, count in summary.guards.killed.items():
        if count >= 5 and why in mends:
            told = f"{number(count)} runs were ended because they {why}: if these suites need it, raise "
            return line(told, code(mends[why]), " or the limits of their tasks.")
    return None


def _crashes(summary: Summary) -> Line | None:
    crashes = summary.daemon.crashes
    if crashes < 2:
        return None
    told = f"The daemon ended without a word {number(crashes)} times: if you did not kill it, look at "
    return line(told, code("cli.py --doctor"), ".")


def _held_for_review(summary: Summary) -> Line | None:
    held = summary.daemon.held_s.get(PauseSource.REVIEW, 0)
    if held < 3600:
        return None
    return line(f"Work waited {duration(held)} for commits to be read: read in smaller portions, or raise ",
                code("REVIEW_DEBT"), ".")  # fmt: skip


def _trouble(kind: Kind, one: str, more: str, mend: str) -> Rule:
    def rule(summary: Summary) -> Line | None:
        count = summary.happened(kind)
        return line(f"{many(count, one, more)}: {mend}") if count else None

    return rule


RULES = (
    _regressions, _high_risk, _debt, _slow_answers, _killed, _crashes, _held_for_review,
    _trouble(Kind.DATABASE_RESTORED, "restore of the database", "restores of the database",
             "look at the disk; what was written after the backup is not in these figures."),
    _trouble(Kind.BACKUP_FAILED, "backup failed", "backups failed", "look at the disk and the folder of backups."),
    _trouble(Kind.DISK_LOW, "time the disk was nearly full", "times the disk was nearly full",
             "make room, or keep less (keep_events_days, keep_work_days, database_max_mb)."),
    _trouble(Kind.NOTIFY_FAILED, "notice could not be sent", "notices could not be sent",
             "look at notify_command and notify_url."),
    _trouble(Kind.PUSH_FAILED, "push failed", "pushes failed", "look at the remote, or set GIT_AUTO_PUSH=false."),
    _trouble(Kind.INBOX_REJECTED, "fault in tasks.yaml", "faults in tasks.yaml",
             "it was refused, and its last good reading is in force."),
)  # fmt: skip
