"""What each action of the command line calls, with the values that its options were given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from client import approvals, commits, daemon, environments, following, repository_settings, service, tasks, transfer
from client.command import Action
from client.daemon_client import LogQuery
from client.new_task import task_body, text_or_stdin
from client.session import Session
from core.events import Level

Values = Mapping[str, Any]
"""What was given on the command line, by parameter name of `client.command`."""

ACTIONS: Mapping[Action, Callable[[Session, Values], int]] = {
    Action.ADD: lambda s, v: tasks.add(s, task_body(v["text"][0], v), typed=v["text"][0] == "-"),
    Action.RUN: lambda s, v: following.run(s, task_body(v["run"], v)),
    Action.LOAD: lambda s, v: tasks.load(s, v["load"]),
    Action.LOGS: lambda s, v: following.logs(s, _log_query(v), follow=v["follow"]),
    Action.HISTORY: lambda s, v: tasks.history(s, v["history"]),
    Action.SHOW: lambda s, v: tasks.show(s, v["show"]),
    Action.WAIT: lambda s, v: following.wait(s, v["wait"]),
    Action.CANCEL: lambda s, v: tasks.cancel(s, v["cancel"]),
    Action.RETRY: lambda s, v: tasks.retry(s, v["retry"]),
    Action.RETRY_FAILED: lambda s, _: tasks.retry_failed(s),
    Action.PRIORITISE: lambda s, v: tasks.prioritise(s, v["prioritise"]),
    Action.FORK: lambda s, v: tasks.fork(s, v["fork"], model=v["model"], note=v["remark"] or ""),
    Action.PAUSE: lambda s, _: daemon.pause(s),
    Action.RESUME: lambda s, _: daemon.resume(s),
    Action.CHECKPOINT: lambda s, _: daemon.checkpoint(s),
    Action.APPROVALS: lambda s, _: approvals.approvals(s),
    Action.ENVIRONMENTS: lambda s, _: environments.environments(s),
    Action.APPROVE: lambda s, v: approvals.approve(s, v["approve"], v["remark"] or ""),
    Action.DENY: lambda s, v: approvals.deny(s, v["deny"], v["remark"] or ""),
    Action.ANSWER: lambda s, v: approvals.answer(s, v["answer"], text_or_stdin(next(iter(v["text"]), ""))),
    Action.VERIFY: lambda s, v: commits.verify(s, v["verify"] or v["text"][1], v["repo"] or ""),
    Action.REPO_SETTINGS: lambda s, v: repository_settings.repository_settings(s, v["repo_settings"], v["text"]),
    Action.REPORT: lambda s, v: daemon.report(s, v["report"]),
    Action.EXPORT_MEMORY: lambda s, v: transfer.export_memory(s, v["export_memory"]),
    Action.IMPORT_MEMORY: lambda s, v: transfer.import_memory(s, v["import_memory"]),
    Action.EXPORT_TRAINING: lambda s, v: transfer.export_training(s, v["export_training"]),
    Action.UNREAD: lambda s, v: commits.unread(s, v["unread"]),
    Action.REVIEWED: lambda s, v: commits.reviewed(s, v["reviewed"]),
    Action.REVERT: lambda s, v: commits.revert(s, v["revert"], force=v["force"]),
    Action.REAPPLY: lambda s, v: commits.revert(s, v["reapply"], force=v["force"], reapply=True),
    Action.UNDO: lambda s, v: commits.undo(s, force=v["force"], yes=v["yes"]),
    Action.RELOAD: lambda s, _: daemon.reload(s),
    Action.INSTALL_EXTRA: lambda s, v: daemon.install_extra(s, v["install_extra"]),
    Action.NOTIFY_TEST: lambda s, _: daemon.notify_test(s),
    Action.INSTALL_SERVICE: lambda s, v: service.install(s, dry_run=v["dry_run"]),
    Action.UNINSTALL_SERVICE: lambda s, v: service.uninstall(s, dry_run=v["dry_run"]),
    Action.PROMPT: lambda s, _: _prompt(s),
}
"""All but those that need no session, `--doctor` and `--completion`, and `--status`, which needs little else."""


def _prompt(session: Session) -> int:
    from client.prompt import Prompt  # noqa: PLC0415  # readline writes to some terminals when it is imported

    return Prompt(session).run()


def _log_query(values: Values) -> LogQuery:
    level = Level(values["level"]) if values["level"] else None
    return LogQuery(limit=values["logs"], level=level, task_id=values["log_task"])
