"""The hub as the server's threads ask it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from nightshift.core.errors import NightshiftError
from nightshift.remote.hub.connection import HubConnections

_T = TypeVar("_T")


class NoHub(NightshiftError):
    """The settings name no hub."""

    def __init__(self) -> None:
        super().__init__("this machine belongs to no hub: HUB_URL is not set")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNode:
    """The machine at hand, as a node; `id` is None until it has joined for the first time."""

    id: str | None
    name: str


class HubPort(Protocol):
    """For any thread; waits some seconds at most."""

    def own(self) -> OwnNode:
        """The machine at hand."""
        ...

    def ask(self, question: Callable[[HubConnections], _T]) -> _T:
        """Ask the hub a question; fails with `HubAway`, `HubRefused` and `ExtraMissing`, and as the question does."""
        ...
