"""Settings of a node: the hub that it belongs to, and its name, labels and address there."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from nightshift.config.fields import ByHand, Heading, SettingsGroup, Takes
from nightshift.config.values import PageAddress, Seconds

GIVES_TASKS = ByHand("it decides who else gives tasks to this machine, and who gets its tasks")
Label = Annotated[str, Field(pattern=r"^[a-z0-9][A-Za-z0-9_.:/-]{0,100}$")]


def _temporal(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme in {"postgresql", "postgres"}:
        raise ValueError(
            "names the database of an older version's hub: end its open tasks with that version first (`hub tasks`, "
            "`hub cancel`), then name a Temporal server, such as temporal://host:7233/default"
        )
    if parts.scheme != "temporal" or not parts.hostname or parts.username or "/" in parts.path.strip("/"):
        raise ValueError("is not the address of a Temporal server, such as temporal://host:7233/default")
    return value


def _postgres(value: SecretStr) -> SecretStr:
    try:
        sound = urlsplit(value.get_secret_value()).scheme in {"postgresql", "postgres"}
    except ValueError:
        sound = False
    if not sound:
        raise ValueError(
            "is not the address of a PostgreSQL database, such as postgresql://user:password@host/nightshift"
        )
    return value


TemporalAddress = Annotated[str, AfterValidator(_temporal)]
PostgresAddress = Annotated[SecretStr, AfterValidator(_postgres)]


class HubSettings(SettingsGroup):
    """Several machines that share one queue."""

    heading: ClassVar[Heading | None] = Heading.WORKERS

    hub_url: Annotated[TemporalAddress | None, GIVES_TASKS, Takes.RESTART] = None
    """The Temporal server and namespace that nodes share, such as temporal://host:7233/default. Unset: this machine \
works alone."""
    hub_database_url: Annotated[PostgresAddress | None, GIVES_TASKS, Takes.RESTART] = None
    """The PostgreSQL database in which nodes share lessons and a budget, such as \
postgresql://user:password@host/nightshift. Unset: they share only tasks."""
    node_name: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$"), Takes.RESTART] = None
    """The name of this machine on the hub. Unset: its host name."""
    node_labels: Annotated[list[Label], Takes.RESTART] = Field(default_factory=list)
    """Labels of this machine that tasks may require, such as `gpu`. Nightshift also detects some labels itself."""
    node_url: Annotated[PageAddress, Takes.RESTART] = ""
    """The address at which the dashboards of other nodes link to this node. Unset: the address of its own dashboard."""
    hub_lease_s: Annotated[Seconds, Field(ge=1), Takes.RESTART] = 60
    """How long a node may give no sign of life before its tasks go to other nodes."""
