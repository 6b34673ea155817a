"""The connection to the hub: a Temporal client on its own thread, which other threads call and wait for.

An unavailable hub stops no work: nodes finish their tasks and hand in the results later. Therefore every temporary
problem (no route, a restart, a full disk, a rate limit) raises `HubAway`, and only a permanent one (a missing
namespace, a wrong key or certificate) raises `HubRefused`. TLS, API key and certificates come from the SDK's own
settings (`TEMPORAL_TLS…`, `TEMPORAL_API_KEY`, or the SDK's configuration file).
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from nightshift.core.errors import ExtraMissing, HubAway, HubRefused, IllegalMove, NodeRemoved
from nightshift.core.program import format_command
from nightshift.core.status import install_by_hand

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowExecutionDescription, WorkflowUpdateFailedError
    from temporalio.runtime import Runtime
    from temporalio.service import RPCError

ANSWER_S = 20.0
"""Timeout for an answer, in seconds."""
_RETRY_MS = 2000
"""Milliseconds for which the SDK retries a call that found no server."""
_CLOSE_S = 5.0
NOT_READY = f"the namespace is not ready for this program: type `{format_command('hub init')}`"
_RETURN_S = 0.2
"""Seconds that the SDK's own threads get to finish their calls into Python. If the interpreter ends while they run, the
process aborts.
"""
PORT = 7233
_WORDS = re.compile(r'message: "([^"]+)"')
_T = TypeVar("_T")


class HubConnection:
    """A client of the hub for use in any thread. It connects on first use.

    Args:
        url: `temporal://HOST:PORT/NAMESPACE`.
        answer_s: timeout for an answer, in seconds.
    """

    def __init__(self, url: str, answer_s: float = ANSWER_S) -> None:
        try:
            import temporalio.client  # noqa: F401, PLC0415  an extra
        except ModuleNotFoundError as error:
            raise ExtraMissing(f"a hub needs more packages: install them with {install_by_hand('hub')}") from error
        parts = urlsplit(url)
        self.target, self.namespace = f"{parts.hostname}:{parts.port or PORT}", parts.path.strip("/") or "default"
        self._answer_s, self._lock = answer_s, threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Client | None = None
        self._connecting: asyncio.Lock | None = None

    def close(self) -> None:
        """Stop the client's thread."""
        with self._lock:
            loop, thread, self._loop, self._client = self._loop, self._thread, None, None
        if loop and thread:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSE_S)

    def call(self, question: Callable[[Client], Coroutine[Any, Any, _T]], answer_s: float | None = None) -> _T:
        """Run a request on the client's thread and return its result.

        Raises:
            HubAway: the server cannot be reached or used now.
            HubRefused: the server refuses permanently.
            IllegalMove: the task's state does not allow the requested operation.
        """
        future = self.begin(question)
        try:
            return future.result(answer_s or self._answer_s)
        except TimeoutError:
            future.cancel()
            raise HubAway(f"the hub cannot be reached: no answer for {answer_s or self._answer_s:g} s") from None

    def begin(self, question: Callable[[Client], Coroutine[Any, Any, _T]]) -> Future[_T]:
        """Start a request without waiting for its result. The future raises the errors of `call`."""
        return asyncio.run_coroutine_threadsafe(self._ask(question), self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="hub-client", daemon=True)
                self._thread.start()
            return self._loop

    async def _ask(self, question: Callable[[Client], Coroutine[Any, Any, _T]]) -> _T:
        from temporalio.client import (  # noqa: PLC0415  an extra
            WorkflowUpdateFailedError,
            WorkflowUpdateRPCTimeoutOrCancelledError,
        )
        from temporalio.service import RPCError  # noqa: PLC0415  as above

        try:
            return await question(await self._connect())
        except WorkflowUpdateFailedError as error:
            raise _refusal(error) from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            raise HubAway("no node of the hub has answered") from error
        except RPCError as error:
            raise self._translate(error) from error

    async def _connect(self) -> Client:
        from temporalio.client import Client  # noqa: PLC0415  an extra
        from temporalio.envconfig import ClientConfig  # noqa: PLC0415  as above
        from temporalio.service import RetryConfig  # noqa: PLC0415  as above

        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self._client is None:
                own = ClientConfig.load_client_connect_config()
                own["target_host"], own["namespace"] = self.target, self.namespace
                retry = RetryConfig(max_elapsed_time_millis=_RETRY_MS)
                try:
                    self._client = await Client.connect(**own, retry_config=retry, runtime=_runtime())
                except RuntimeError as error:
                    if "certificate" in str(error).lower():
                        raise HubRefused(f"the TLS connection to the hub at {self.target} failed: {error}") from error
                    raise HubAway(f"the hub cannot be reached: {self.target}: {_shorten(error)}") from error
            return self._client

    def _translate(self, error: RPCError) -> Exception:
        from temporalio.service import RPCStatusCode as Code  # noqa: PLC0415  an extra

        if error.status in {Code.NOT_FOUND, Code.INVALID_ARGUMENT} and "amespace" in str(error):
            return HubRefused(
                f"the hub at {self.target} has no namespace {self.namespace}; "
                f"create it with `temporal operator namespace create -n {self.namespace}`"
            )
        if error.status in {Code.PERMISSION_DENIED, Code.UNAUTHENTICATED}:
            return HubRefused(f"the hub at {self.target} refuses this machine: {error}; check TEMPORAL_API_KEY")
        if "search attribute" in str(error).lower():
            return HubRefused(NOT_READY)
        if error.status in {Code.INVALID_ARGUMENT, Code.UNIMPLEMENTED, Code.FAILED_PRECONDITION}:
            return HubRefused(f"the hub refused the request: {error}")
        return HubAway(f"the hub cannot be reached: {self.target}: {error}")


def _shorten(error: RuntimeError) -> str:
    """Return the operating system's message from an error of the SDK, without the type names around it."""
    return words[1] if (words := _WORDS.search(str(error))) else str(error)


async def describe(client: Client, workflow_id: str) -> WorkflowExecutionDescription | None:
    """Return the server's description of a workflow; None if there is no workflow with that id."""
    from temporalio.service import RPCError  # noqa: PLC0415  an extra

    try:
        return await client.get_workflow_handle(workflow_id).describe()
    except RPCError as error:
        if not is_unknown(error):
            raise
        return None


def is_unknown(error: RPCError) -> bool:
    """Check whether the error says that the server has no workflow or attempt with that id.

    A missing namespace has the same status but does not count.
    """
    from temporalio.service import RPCStatusCode  # noqa: PLC0415  an extra

    return error.status is RPCStatusCode.NOT_FOUND and "amespace" not in str(error)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped, then cancel its remaining tasks."""
    try:
        loop.run_forever()
    finally:
        if tasks := asyncio.all_tasks(loop):
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.wait(tasks))
        loop.run_until_complete(asyncio.sleep(_RETURN_S))
        loop.close()


@cache
def _runtime() -> Runtime:
    """Return the SDK's runtime with logging switched off, since every error that it would log is also raised."""
    from temporalio.runtime import Runtime, TelemetryConfig  # noqa: PLC0415  an extra

    return Runtime(telemetry=TelemetryConfig(logging=None))


def _refusal(error: WorkflowUpdateFailedError) -> Exception:
    """Return our error for an update that a workflow refused."""
    from nightshift.remote.hub.workflows import REMOVED  # noqa: PLC0415  an extra

    text, kind = str(error.cause), getattr(error.cause, "type", "")
    text = text.removeprefix(f"{kind}: ")
    if kind == REMOVED:
        return NodeRemoved(text)
    return IllegalMove(text) if kind == "illegal" else HubRefused(f"the hub refused the request: {text}")
