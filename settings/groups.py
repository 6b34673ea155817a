"""Under which headings the settings stand for their owner, in order; a test holds that each stands under one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_GROUPS: Final = {
    "Models": """
        model_type model_name phase_models routing openai_api_key openai_base_url anthropic_api_key anthropic_base_url
        ollama_base_url gpt4all_model_path model_prices edit_format model_num_ctx model_max_tokens model_timeout_s
        model_max_wait_s model_probe_s repair_first_s repair_s
    """,
    "Workers": "worker_count max_retries retry_base_s drain_s lease_s",
    "Limits and budgets": """
        task_timeout max_iterations warn_iterations suite_timeout_s call_tokens call_cost_usd task_model_calls
        task_tokens task_cost_usd day_tokens day_cost_usd total_tokens total_cost_usd
    """,
    "Reviews and questions": """
        enable_review review_blocks review_rounds enable_audit audit_blocks enable_clarify clear_enough clarify_wait_s
        enable_split review_debt
    """,
    "Git": "git_auto_push git_integrate git_author_name git_author_email",
    "Sandbox and checks": """
        sandbox docker_host docker_image sandbox_cpus sandbox_memory_mb sandbox_pids sandbox_work_mb sandbox_nice
        allowed_deps held_out_share oracle_inputs checker_rules checker_allow blocked_commands
    """,
    "Checkpoint and quiet hours": "checkpoint_days quiet_hours pause_on_battery",
    "Notifications": "notify_on notify_desktop notify_url notify_secret notify_command",
    "Learning": "embedder embedder_model recall_limit recall_control_share",
    "Dashboard": "flask_host flask_port api_token",
    "Storage and log": """
        keep_events_days keep_work_days database_max_mb disk_reserve_mb backups_keep backups_daily state_interval_s
        log_level log_max_mb log_keep log_days extras
    """,
}

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {title: tuple(names.split()) for title, names in _GROUPS.items()}
"""Headings, each with the names of its settings."""
