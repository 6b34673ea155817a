"""Which settings a running daemon takes up when it reads them again, and which need a restart.

A test holds that every field of `Settings` stands in exactly one of the two sets, so a new setting cannot be forgotten.
Live ones hold for what begins after the reload: a task that runs goes on with the limits it began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Takes(StrEnum):
    """When a changed setting holds."""

    LIVE = "live"
    RESTART = "restart"


_LIVE: Final = """
model_type model_name phase_models openai_api_key openai_base_url anthropic_api_key anthropic_base_url ollama_base_url
gpt4all_model_path model_num_ctx model_max_tokens model_timeout_s model_max_wait_s model_prices model_probe_s repair_s
repair_first_s edit_format routing
call_tokens call_cost_usd task_model_calls task_tokens task_cost_usd day_tokens day_cost_usd total_tokens total_cost_usd
worker_count max_retries retry_base_s task_timeout max_iterations warn_iterations drain_s
sandbox_cpus sandbox_memory_mb sandbox_pids sandbox_work_mb suite_timeout_s allowed_deps held_out_share oracle_inputs
checker_rules checker_allow blocked_commands
git_auto_push git_integrate git_author_name git_author_email
enable_review enable_audit enable_clarify enable_split review_blocks audit_blocks review_rounds clear_enough
clarify_wait_s
recall_limit
checkpoint_days state_interval_s log_level review_debt quiet_hours pause_on_battery
keep_events_days keep_work_days database_max_mb disk_reserve_mb backups_keep backups_daily
log_max_mb log_keep log_days
notify_command notify_desktop notify_url notify_secret notify_on
""".split()  # noqa: SIM905 - names are read more easily than quotes
# Where things lie and what listens there; the sandbox, which is tested at the start; what vectors are made with; and
# leases, which running claims hold already.
_RESTART: Final = """
home folders flask_host flask_port api_token
sandbox docker_host docker_image sandbox_nice
embedder embedder_model recall_control_share lease_s extras
""".split()  # noqa: SIM905 - names are read more easily than quotes

TAKES: Final[Mapping[str, Takes]] = {
    **dict.fromkeys(_LIVE, Takes.LIVE),
    **dict.fromkeys(_RESTART, Takes.RESTART),
}
"""The name of each setting to when it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """A setting that was changed and needs a restart; `holds` is the value until then, as it may be shown."""

    name: str
    holds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What came of reading the settings again: the names of those that hold now, and those that wait for a restart."""

    changed: tuple[str, ...] = ()
    later: tuple[Later, ...] = ()

    @property
    def sentence(self) -> str:
        """For the log and for the owner."""
        told = [f"changed: {', '.join(self.changed)}"] if self.changed else []
        if self.later:
            told.append("after a restart: " + ", ".join(f"{each.name} (still {each.holds})" for each in self.later))
        return "settings read again; " + ("; ".join(told) or "nothing has changed")
