"""Settings of a daemon that runs unattended for months: checkpoints, notices, addresses, backups and retention."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, SecretStr

from nightshift.config.access import FLASK_HOST, FLASK_PORT
from nightshift.config.fields import ByHand, Heading, SettingsGroup, Takes
from nightshift.config.times import QuietHours
from nightshift.config.values import DashboardNames, Days, Megabytes, PageAddress, Positive, Seconds, WebAddress

Notice = Literal["done", "failed", "needs_you", "checkpoint", "trouble"]


class CheckpointSettings(SettingsGroup):
    """Conditions under which no new task is started."""

    heading: ClassVar[Heading | None] = Heading.WORKERS
    on_page: ClassVar[frozenset[str]] = frozenset({"checkpoint_days", "quiet_hours", "pause_on_battery"})

    checkpoint_days: Annotated[Days, Field(le=3650)] = 7
    """How many days the daemon works after a resume before it pauses at the next checkpoint."""
    quiet_hours: QuietHours = Field(default_factory=list)
    """Spans of local time in which no task is started, such as `22:00-07:00` or `Mon-Fri 09:00-17:30`."""
    pause_on_battery: bool = False
    """Start no task while the machine runs on its battery."""


class NotificationSettings(SettingsGroup):
    """The notices to send, and where they are sent."""

    heading: ClassVar[Heading | None] = Heading.UPKEEP
    on_page: ClassVar[frozenset[str]] = frozenset({"notify_on", "notify_desktop", "notify_url"})

    notify_on: list[Notice] = Field(default=["failed", "needs_you", "checkpoint", "trouble"])
    """The kinds of notices that you get: done, failed, needs_you, checkpoint, trouble."""
    notify_desktop: bool = False
    """Show notices on this machine's desktop, with notify-send."""
    notify_url: WebAddress | None = None
    """The address to which each notice is posted (a webhook)."""
    notify_form: Literal["auto", "json", "slack", "discord", "ntfy"] = "auto"
    """The format of posted notices. auto: that of Slack, Discord or ntfy.sh by the address, otherwise JSON."""
    notify_secret: SecretStr | None = None
    """The secret that signs posted notices."""
    notify_command: Annotated[list[str], ByHand("it names a program that the daemon starts")] = Field(
        default_factory=list
    )
    """A program and its arguments, started without a shell for each notice. It reads the notice as JSON from stdin."""


class DashboardSettings(SettingsGroup):
    """The addresses and the token of the dashboard and the API."""

    heading: ClassVar[Heading | None] = Heading.UPKEEP
    on_page: ClassVar[frozenset[str]] = frozenset({"flask_port", "api_token"})

    flask_host: Annotated[str, Takes.RESTART, ByHand("it decides who can reach the daemon")] = FLASK_HOST
    """The address that the dashboard and the API listen on. If other machines can reach it, api_token is required."""
    flask_port: Annotated[int, Field(ge=0, le=65535), Takes.RESTART] = FLASK_PORT
    """The port of the dashboard and the API; 0 picks a free port."""
    dashboard_url: Annotated[PageAddress, Takes.RESTART, ByHand("it decides by which name pages are reached")] = ""
    """The external address of the dashboard, for example through a proxy. Posted notices link to it."""
    dashboard_names: Annotated[DashboardNames, Takes.RESTART, ByHand("it decides by which name pages are reached")] = (
        Field(default_factory=list)
    )
    """More host names of the dashboard, such as `workstation.example`, with the port unless it is 80 or 443."""
    api_token: Annotated[SecretStr | None, Takes.RESTART, ByHand("it decides who is let in")] = None
    """The token that clients must send. Required if other machines can reach the dashboard."""


class StorageSettings(SettingsGroup):
    """Limits on the age and size of stored data, and the installation of packages.

    Tasks and commits are always kept.
    """

    heading: ClassVar[Heading | None] = Heading.UPKEEP

    keep_events_days: Days = 90
    """How long lines of the log are kept in the database."""
    keep_work_days: Days = 30
    """How long steps, prompts and replies are kept after the end of their task."""
    keep_calls_days: Annotated[Days, Field(ge=70)] = 90
    """How long each model call, recall and iteration is kept. After that, only daily sums are kept."""
    keep_lessons_days: Days = 180
    """How long an unused lesson is kept."""
    keep_lessons: Annotated[int, Field(ge=100)] = 5_000
    """How many lessons of each kind are kept. Beyond that, the least used are deleted."""
    database_max_mb: Annotated[Megabytes, Field(ge=64)] = 100
    """Size at which the oldest log lines, steps, prompts and replies are deleted. Backups may take twice as much."""
    disk_reserve_mb: Annotated[Megabytes, Field(ge=0)] = 300
    """Free disk space below which no task is started; 0 switches this check off."""
    backups_keep: Positive = 4
    """How many of the newest backups are kept."""
    backups_daily: Annotated[int, Field(ge=0)] = 7
    """How many backups of earlier days are kept, one for each day."""
    state_interval_s: Seconds = 3600
    """How often state.json and a backup of the database are written."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level that is written to logs/agent.log."""
    log_max_mb: Annotated[Megabytes, Field(gt=0)] = 10
    """The size at which logs/agent.log is rotated."""
    log_keep: Positive = 5
    """How many old log files are kept."""
    log_days: Days = 30
    """How long old log files are kept."""
    extras: Annotated[Literal["auto", "ask", "off"], Takes.RESTART] = "auto"
    """Installation of optional packages: when first needed (auto), when you agree (ask), or never (off)."""
