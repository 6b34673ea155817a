"""One setting as its owner may see it: no secret, nothing that a terminal or a page would obey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config import Settings
from core.masking import Masker, printable
from server.settings_door import Valued
from settings.catalogue import Described, Kind, plain
from settings.origins import Origin


def shown(described: Described, now: Settings, after: Settings, found: Mapping[str, Origin], mask: Masker) -> Valued:
    """Put together what is known of one setting.

    Args:
        described: what is true of it in any daemon.
        now: what holds.
        after: what the sources say, which is what holds after a restart.
        found: where settings come from.
        mask: takes secrets out of texts.
    """
    name = described.name
    held, later = getattr(now, name), getattr(after, name)
    value, following = (_safe(_short(name, plain(each)), mask) for each in (held, later))
    return Valued(
        described=described,
        value=value,
        next=following,
        waits=held != later,
        is_set=later is not None,
        veiled=described.kind is not Kind.SECRET and (value, following) != (plain(held), plain(later)),
        origin=found.get(name, Origin.DEFAULT),
        fixed=fixed(name, found.get(name)),
    )


def fixed(name: str, origin: Origin | None) -> str:
    """Why the file does not decide about a setting, as a sentence with the mend; empty where it does."""
    if origin is Origin.ENVIRONMENT:
        return f"the environment of the daemon sets {name.upper()}, which overrules config.yaml; unset it there"
    if origin is Origin.DOTENV:
        return f"the file .env sets {name.upper()}, which overrules config.yaml; change it there"
    return ""


def _short(name: str, value: Any) -> Any:
    """A command without its arguments, among which people keep passwords."""
    return [*value[:1], "…"] if name == "notify_command" and len(value) > 1 else value


def _safe(value: Any, mask: Masker) -> Any:
    """The value with its texts masked and made printable."""
    if isinstance(value, str):
        return printable(mask(value))
    if isinstance(value, list):
        return [_safe(each, mask) for each in value]
    if isinstance(value, Mapping):
        return {_safe(key, mask): _safe(each, mask) for key, each in value.items()}
    return value
