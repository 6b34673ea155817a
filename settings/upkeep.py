"""Settings of a daemon that is left alone for months: doors, checkpoints, backups, what is kept, who is told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from settings.times import QuietHours
from settings.values import Days, Positive, Seconds, WebAddress

Notice = Literal["done", "failed", "needs_you", "checkpoint", "trouble"]


class UpkeepSettings(BaseSettings):
    """How the daemon is reached, and how it looks after itself."""

    # Dashboard and API.
    flask_host: str = "127.0.0.1"
    flask_port: Annotated[int, Field(ge=0, le=65535)] = 5000
    api_token: SecretStr | None = None

    # House-keeping.
    checkpoint_days: Annotated[float, Field(gt=0, le=3650)] = 7
    state_interval_s: Seconds = 3600
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    # How many commits may wait to be read before new work waits for the owner; None is unlimited.
    review_debt: Positive | None = None

    # When no new task is begun: spans of local time such as `22:00-07:00` or `Mon-Fri 09:00-17:30`.
    quiet_hours: QuietHours = Field(default_factory=list)
    pause_on_battery: bool = False

    # What is kept, by age and by size. Tasks, commits, lessons and what models cost are always kept.
    keep_events_days: Days = 90
    keep_work_days: Days = 30
    database_max_mb: Annotated[int, Field(ge=64)] = 2048
    disk_reserve_mb: Annotated[int, Field(ge=0)] = 300
    backups_keep: Positive = 4
    backups_daily: Annotated[int, Field(ge=0)] = 7
    log_max_mb: Positive = 10
    log_keep: Positive = 5
    log_days: Days = 30

    # Who is told of what: a command with the notice on its standard input, and a URL it is posted to.
    notify_command: list[str] = Field(default_factory=list)
    notify_url: WebAddress | None = None
    notify_secret: SecretStr | None = None
    notify_on: list[Notice] = Field(default=["failed", "needs_you", "checkpoint", "trouble"])
