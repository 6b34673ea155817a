"""Settings of a daemon that is left alone for months: checkpoints, notices, its address, backups, what is kept."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, SecretStr

from nightshift.config.access import FLASK_HOST, FLASK_PORT
from nightshift.config.fields import ByHand, SettingsGroup, Takes
from nightshift.config.times import QuietHours
from nightshift.config.values import DashboardNames, Days, Megabytes, PageAddress, Positive, Seconds, WebAddress

Notice = Literal["done", "failed", "needs_you", "checkpoint", "trouble"]


class CheckpointSettings(SettingsGroup):
    """When no new task is begun."""

    heading: ClassVar[str] = "Checkpoint and quiet hours"

    checkpoint_days: Annotated[Days, Field(le=3650)] = 7
    """How long the daemon works from one resume to the next checkpoint."""
    quiet_hours: QuietHours = Field(default_factory=list)
    """Spans of local time in which no task is started, such as `22:00-07:00` or `Mon-Fri 09:00-17:30`."""
    pause_on_battery: bool = False
    """Whether no task is started while the machine runs on its battery."""


class NotificationSettings(SettingsGroup):
    """The notices that are sent, and their recipients."""

    heading: ClassVar[str] = "Notifications"

    notify_on: list[Notice] = Field(default=["failed", "needs_you", "checkpoint", "trouble"])
    """Of what you are told: done, failed, needs_you, checkpoint, trouble."""
    notify_desktop: bool = False
    """Whether notices are shown on this machine's desktop, by notify-send."""
    notify_url: WebAddress | None = None
    """The address to which each notice is posted (a webhook)."""
    notify_form: Literal["auto", "json", "slack", "discord", "ntfy"] = "auto"
    """How it is written there; auto knows Slack, Discord and ntfy.sh by their addresses, and writes JSON elsewhere."""
    notify_secret: SecretStr | None = None
    """The secret that signs posted notices."""
    notify_command: Annotated[list[str], ByHand("it names a program that the daemon starts")] = Field(
        default_factory=list
    )
    """A program and its arguments, started without a shell for each notice, which is on its standard input as JSON."""


class DashboardSettings(SettingsGroup):
    """How dashboard and API are reached."""

    heading: ClassVar[str] = "Dashboard"

    flask_host: Annotated[str, Takes.RESTART, ByHand("it decides who can reach the daemon")] = FLASK_HOST
    """The address that dashboard and API listen on. Others than this machine's own need api_token."""
    flask_port: Annotated[int, Field(ge=0, le=65535), Takes.RESTART] = FLASK_PORT
    """The port of dashboard and API; 0 takes a free one."""
    dashboard_url: Annotated[PageAddress, Takes.RESTART, ByHand("it decides by which name pages are reached")] = ""
    """The address of the dashboard from elsewhere, through a proxy for instance; posted notices link to it."""
    dashboard_names: Annotated[DashboardNames, Takes.RESTART, ByHand("it decides by which name pages are reached")] = (
        Field(default_factory=list)
    )
    """Further names by which you reach it, such as `workstation.example`, with a port where that is not 80 or 443."""
    api_token: Annotated[SecretStr | None, Takes.RESTART, ByHand("it decides who is let in")] = None
    """The token that visitors must know, here or where the dashboard can be reached from other machines."""


class StorageSettings(SettingsGroup):
    """Limits of age and size for stored data, and packages to install. Tasks and commits are always kept."""

    heading: ClassVar[str] = "Storage and log"

    keep_events_days: Days = 90
    """How long lines of the log are kept in the database."""
    keep_work_days: Days = 30
    """How long steps, prompts and replies are kept after their task has ended."""
    keep_calls_days: Annotated[Days, Field(ge=70)] = 90
    """How long each call of a model, recall and iteration is kept; of older calls the sums of a day are."""
    keep_lessons_days: Days = 180
    """How long a lesson is kept that no task has used."""
    keep_lessons: Annotated[int, Field(ge=100)] = 5_000
    """How many lessons of a kind are kept; beyond that the least used go."""
    database_max_mb: Annotated[Megabytes, Field(ge=64)] = 100
    """Size at which the oldest lines of the log, steps, prompts and replies go; backups may take twice that."""
    disk_reserve_mb: Annotated[Megabytes, Field(ge=0)] = 300
    """With less room than this on the disk no task is started; 0 switches this off."""
    backups_keep: Positive = 4
    """How many of the newest backups are kept."""
    backups_daily: Annotated[int, Field(ge=0)] = 7
    """How many backups of earlier days are kept, one a day."""
    state_interval_s: Seconds = 3600
    """How often state.json and a backup of the database are written."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least level of the lines in logs/agent.log."""
    log_max_mb: Annotated[Megabytes, Field(gt=0)] = 10
    """How large logs/agent.log may be before a new one is begun."""
    log_keep: Positive = 5
    """How many old log files are kept."""
    log_days: Days = 30
    """How long old log files are kept."""
    extras: Annotated[Literal["auto", "ask", "off"], Takes.RESTART] = "auto"
    """Whether optional packages are installed when they are first wanted (auto), when you say so (ask), or never."""
