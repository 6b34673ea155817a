"""The clients of all backends under one set of settings: availability, order, and the preparation of requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.gauge import Gauge
from nightshift.core.status import ModelStatus
from nightshift.core.tasks.states import Phase
from nightshift.core.text.masking import Masker
from nightshift.models.backend_client import BackendClient
from nightshift.models.base import BaseModelHandler
from nightshift.models.services import GatewayServices, RoutingConfig
from nightshift.models.token_estimates import most_cautious


class BackendPool:
    """The clients of all backends under one set of settings. Must be used from one event loop.

    Settings may change while calls are under way. A request keeps the pool that it began with, and the old pool closes
    its backends when its last request has ended.

    Args:
        backends: the chain, best first (`models.chain.build_chain`).
        config: settings for asking the backends.
        services: the stores, the clock and the sink for events.

    Attributes:
        clients: clients of all backends, in the order of the chain.
        models: the clients of models, without the engine.
        engine: the client of the built-in engine, if it takes part.
    """

    def __init__(self, backends: Sequence[BaseModelHandler], config: RoutingConfig, services: GatewayServices) -> None:
        self.config = config
        self.clients = tuple(BackendClient(backend, config, services) for backend in backends)
        self.models = tuple(client for client in self.clients if not client.is_engine)
        self.engine = next((client for client in self.clients if client.is_engine), None)
        self._users = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[None]:
        """Count a running request during the block, so that the backends stay open until the request has ended."""
        self._users += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._idle.set()

    def inherit(self, earlier: BackendPool) -> None:
        """Take over what the clients of the earlier settings learned.

        Clients are matched by label, or by the backend's name if the owner named no model.
        """
        before = {client.label: client for client in earlier.clients}
        by_backend = {client.backend.name: client for client in reversed(earlier.clients)}
        for client in self.clients:
            predecessor = before.get(client.label) if client.backend.model else by_backend.get(client.backend.name)
            if predecessor is not None:
                client.inherit(predecessor)

    async def retire(self) -> None:
        """Close the backends when no request uses them any more."""
        await self._idle.wait()
        await self.aclose()

    async def aclose(self) -> None:
        """Close the backends."""
        for client in self.clients:
            await client.backend.aclose()

    def prepare(self, request: ModelRequest) -> ModelRequest:
        """Return the request without secrets, and with a temperature that rises with `escalation`."""
        heats, masker = self.config.policy.temperatures, self.config.masker
        heat = heats[min(request.escalation, len(heats) - 1)]
        wanted = request.temperature
        if request.escalation or wanted is None:
            wanted = max((each for each in (wanted, heat) if each is not None), default=None)
        messages = tuple(_mask_message(message, masker) for message in request.messages)
        return replace(request, messages=messages, temperature=wanted)

    def route(self, request: ModelRequest) -> list[BackendClient]:
        """List the models in the owner's order.

        For each escalation after the first, the order is rotated by one position.
        """
        wanted = self._first_choice(request)
        first = [client for client in self.models if wanted and client.matches(wanted)][:1]
        clients = [*first, *(client for client in self.models if client not in first)]
        turn = max(0, request.escalation - 1) % max(1, len(clients))
        return clients[turn:] + clients[:turn]

    def _first_choice(self, request: ModelRequest) -> str | None:
        """Return the owner's preferred model: the task's setting takes precedence over the phase's."""
        named = bool(request.wanted) and any(client.matches(request.wanted) for client in self.clients)
        return request.wanted if named else self.config.phase_models.get(request.phase)

    def gauge(self, phase: Phase, escalation: int, wanted: str = "") -> Gauge:
        """Return the gauge (bytes per token, context window and profile) of the model that will be asked.

        If several models may be asked, return the most cautious values of all of them. Unavailable models are ignored
        while another one is available.
        """
        clients = self.route(ModelRequest(phase=phase, messages=(), escalation=escalation, wanted=wanted))
        clients = [client for client in clients if client.health.available] or clients
        asked = clients if self.config.measured and not wanted else clients[:1]
        return most_cautious([client.gauge for client in asked])

    def client_of(self, completion: Completion) -> BackendClient | None:
        """Return the client of the model that gave a reply, or None if this pool does not contain the model."""
        asked = (completion.backend, completion.model)
        return next((client for client in self.models if (client.backend.name, client.backend.model) == asked), None)

    def engine_for(self, request: ModelRequest) -> BackendClient | None:
        """Return the built-in engine if it may answer, or None.

        The engine does not support tools, so it cannot continue after a model has called some.
        """
        return None if request.tools and request.call_no else self.engine

    def precheck(self, request: ModelRequest) -> tuple[BackendClient, float | None] | None:
        """Return the engine and its time limit in seconds if it may try before the models; otherwise None.

        A limit of None stands for the engine's default.
        """
        engine, wanted = self.engine_for(request), self._first_choice(request)
        preferred = bool(engine and wanted and engine.matches(wanted))
        # A request for the task's own model goes to that model first, without a pre-check.
        unasked = wanted == request.wanted or not self.config.policy.precheck_s
        if engine is None or request.material is None or (unasked and not preferred):
            return None
        return engine, None if preferred else self.config.policy.precheck_s

    def status(self, measured: Callable[[str], str] | None = None) -> tuple[ModelStatus, ...]:
        """Return the status of all backends, in the order of the chain.

        `measured` returns a description of a model's results, given the model as `backend=model`.
        """
        describe = measured or (lambda _label: "")
        return tuple(replace(client.status(), measured=describe(client.label)) for client in self.clients)

    async def check(self, *, models: bool = True, sandboxed: bool = True) -> None:
        """Check the availability of backends concurrently.

        Args:
            models: True to check the backends that need no sandbox.
            sandboxed: True to check the backends that need a sandbox.
        """
        asked = [client for client in self.clients if (sandboxed if client.backend.needs_sandbox else models)]
        await asyncio.gather(*(client.check() for client in asked))

    @property
    def recoveries(self) -> int:
        """The number of times that a backend became available, counted over all backends."""
        return sum(client.recoveries for client in self.clients)


def _mask_message(message: Message, masker: Masker) -> Message:
    """Return a message that is safe to send: secrets masked, and lone surrogates (they cannot be encoded) removed."""
    text = masker(message.text)
    calls = tuple(replace(call, arguments=_mask_arguments(call.arguments, masker)) for call in message.tool_calls)
    # A vendor refuses thoughts that were changed, so thoughts that hold a secret are dropped rather than masked.
    thoughts = tuple(each for each in message.thoughts if masker(each.text) == each.text == _replace_halves(each.text))
    return replace(message, text=text if text.isascii() else _replace_halves(text), tool_calls=calls, thoughts=thoughts)


def _mask_arguments(arguments: Mapping[str, Any], masker: Masker) -> Mapping[str, Any]:
    masked = json.dumps(masker.mask_data(dict(arguments)), ensure_ascii=False)
    return cast("Mapping[str, Any]", json.loads(masked if masked.isascii() else _replace_halves(masked)))


def _replace_halves(text: str) -> str:
    """Replace lone surrogates, which a model can write in JSON but which cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode()


async def first_ready(clients: Sequence[BackendClient]) -> BackendClient | None:
    """Return the first client that may be asked now, or None."""
    for client in clients:
        if await client.ready():
            return client
    return None


def available(clients: Sequence[BackendClient]) -> bool:
    """Check whether any of these backends is available."""
    return any(client.health.available for client in clients)
