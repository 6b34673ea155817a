"""A vendor's HTTP API, through pydantic_ai's model layer over the vendor's own package.

The library handles the wire format: how messages, tools and thoughts are written, and how a stream is read. Nightshift
adds the watch over the incoming bytes (`stream_watch`), the interpretation of errors, and the lessons from refusals. It
also switches off two things: the library never retries, and nothing is stored at the vendor.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from nightshift.core.dialogue import Completion, Finish, ModelRequest, Thinking
from nightshift.core.errors import ModelError, ModelRefused, ModelUnavailable
from nightshift.core.tools import ToolProtocol
from nightshift.models.base import BackendSettings, BaseModelHandler, OnText
from nightshift.models.conversation import as_completion, as_history, parameters_of, pieces_of
from nightshift.models.errors import (
    BackendMisconfigured,
    RequestRefused,
    ToolsRefused,
    from_status,
    quote,
    too_long,
    words_of,
)
from nightshift.models.http_access import AROUND, Probe, fetch_json, is_loopback, load_authorities, usual_address
from nightshift.models.model_table import PHRASES, choose, read_parameters, read_window, window_by_name
from nightshift.models.server_facts import blames_context, blames_tools, is_refusal, read_room
from nightshift.models.stream_watch import UNCOMPRESSED, Hook, StreamWatch, limit_responses, watch_stream

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_PASSING = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error", "server_error"})
"""Kinds of temporary errors in the middle of a stream, when the status is already 200."""
THINKING_FIELDS = frozenset({"reasoning_effort", "reasoning", "thinking", "chat_template_kwargs"})
MOST_LESSONS = 6
"""Maximum number of refusals of one request to learn from. Each refusal teaches one lesson."""
MOST_SLACK = 256
"""Margin in tokens for a wrong estimate of the prompt, and for a short reply."""


class VendorBackend(BaseModelHandler):
    """The base class of backends that use a vendor's HTTP API.

    Attributes:
        vendor: the vendor's name in messages to the owner.
        official: the vendor's own address; empty if the address always comes from the owner's settings.
        needs_key: True if the backend cannot be used without a key.
        paths: trailing paths that people paste with the address.
        listing: the path of the list of models.
        rank: the field by which listed models are sorted, descending: the model's date, size or name.
        preferred: regular expressions of the models to use if none is named, best first.
        ids: pattern of the call ids that the API accepts.
        options: maps further constructor arguments to the names of their settings.
    """

    protocols: tuple[ToolProtocol, ...] = (ToolProtocol.NATIVE, ToolProtocol.TEXT)
    vendor: ClassVar[str]
    official: ClassVar[str] = ""
    needs_key: ClassVar[bool] = True
    paths: ClassVar[re.Pattern[str]]
    listing: ClassVar[str]
    rank: ClassVar[str]
    preferred: ClassVar[tuple[str, ...]] = ()
    ids: ClassVar[re.Pattern[str]] = re.compile(r".{1,40}")
    options: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *, model: str | None, base_url: str, api_key: str | None = None, connect_s: float = 5.0) -> None:
        super().__init__(model=model)
        self._is_named, self._given = bool(model), base_url.strip().rstrip("/")
        self._base_url = usual_address(base_url, self.paths)
        self._key, self._connect_s = (api_key or "").strip(AROUND) or None, connect_s
        self._row: Mapping[str, Any] = {}
        self._api: Model[Any] | None = None
        self._http: Any = None
        self._loading = asyncio.Lock()
        self._has_called = False

    @classmethod
    def from_settings(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Create a backend from the key and address in the owner's settings for this vendor.

        Local servers need no key.
        """
        key = getattr(settings, f"{cls.name}_api_key", None)
        address = getattr(settings, f"{cls.name}_base_url")
        if not (key or (address and not cls.needs_key)):
            return None
        more: dict[str, Any] = {name: getattr(settings, setting) for name, setting in cls.options.items()}
        return cls(model=model, api_key=key, base_url=address or cls.official, connect_s=settings.connect_s, **more)

    @property
    def free(self) -> bool:
        """True for a server on this machine."""
        return is_loopback(self._base_url)

    @property
    def account(self) -> str:
        """The address and a digest of the key, because limits depend on the key."""
        digest = hashlib.sha256((self._key or "").encode()).hexdigest()[:12]
        return f"{self._base_url} {digest}"

    @property
    def advice(self) -> str:
        """The correct form of the address, if it differs from the owner's setting."""
        return "" if self._given == self._base_url else f"write {self.name.upper()}_BASE_URL={self._base_url}"

    @property
    def window(self) -> int | None:
        """The context window of the model in tokens, from the server's list or by the model's name; None if unknown."""
        return read_window(self._row) or window_by_name(self.model)

    @property
    def parameters_b(self) -> float | None:
        """Billions of parameters, from the server's list or the model's name."""
        return read_parameters(self._row) or super().parameters_b

    def is_available(self) -> bool:
        """Fetch the list of models, which shows that the server is available and accepts the key."""
        if wrong := next((n for n, char in enumerate(self._key or "", 1) if not "!" <= char <= "~"), 0):
            self.detail = (
                f"{self.name.upper()}_API_KEY: character {wrong} is not allowed in an HTTP header: paste the key again"
            )
            return False
        probe = self._fetch_listing()
        rows = self._read_listing(probe)
        self.offered = tuple(rows)
        if not self._is_named and self.model not in rows:
            self.model = choose(self.offered, self.preferred) or self.model
        self._row = rows.get(self.model, self._row)
        self.detail = self._find_fault(probe)
        return not self.detail

    def _fetch_listing(self) -> Probe:
        return fetch_json(f"{self._base_url}{self.listing}", self._headers)

    def _read_listing(self, probe: Probe) -> dict[str, Mapping[str, Any]]:
        """Return the listed models by name, sorted by `rank`: the newest or largest first."""
        rows = sorted(probe.rows("data") or probe.rows("models"), key=self._rank_of, reverse=True)
        names = (str(row.get("id") or row.get("name") or row.get("model") or "") for row in rows)
        return {name.removeprefix("models/"): row for name, row in zip(names, rows, strict=True) if name}

    def _rank_of(self, row: Mapping[str, Any]) -> tuple[float, str]:
        rank = row.get(self.rank)
        return rank if isinstance(rank, int | float) else 0, str(rank)

    def _find_fault(self, probe: Probe) -> str:
        """Return why the server cannot be used, in words for the owner; empty if it can."""
        if probe.status in {401, 403}:
            return f"{self.vendor} does not accept the key: set {self.name.upper()}_API_KEY to a valid one"
        if probe.is_unusable:
            return f"{self._where} {probe.fault}"
        if not self.model:
            offers = f"offers {', '.join(self.offered[:5])}" if self.offered else "offers no model"
            return f"{self._where} {offers}: set MODEL_NAME"
        return ""

    @property
    def _where(self) -> str:
        return f"{self.vendor} at {self._base_url}"

    @property
    def _headers(self) -> Mapping[str, str]:
        """The headers that contain the key."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    @abstractmethod
    def _new_api(self, http: Any) -> Model[Any]:
        """Import the vendor's package, and create its model on an HTTP client without retries."""

    def _settings(self, request: ModelRequest) -> dict[str, Any]:  # noqa: ARG002 - for heirs
        """Return the vendor-specific settings of a request, under the library's names. A setting of None is omitted."""
        return {}

    def _body(self, request: ModelRequest) -> Mapping[str, Any]:  # noqa: ARG002 - for heirs
        """Return fields of the request's body for which the library has no setting."""
        return {}

    def _profile(self, name: str) -> Any:
        """Return a property of the model from the library's profile; None until the backend is connected."""
        return self._api.profile.get(name) if self._api else None

    def _takes_temperature(self) -> bool:
        return "temperature" not in self.facts.lacks

    def _thinking(self, request: ModelRequest) -> Thinking | None:
        """Return how much the model should think, for the library's own setting."""
        return request.thinking if self._profile("supports_thinking") else None

    async def _connect(self) -> Model[Any]:
        """Return the library's model.

        It is made in a thread, because importing the packages takes seconds of processor time.
        """
        async with self._loading:
            if self._api is None or self._api.model_name != self.model:
                if self._http is None:
                    self._http = await asyncio.to_thread(self._new_http)
                self._api = await asyncio.to_thread(self._new_api, self._http)
        return self._api

    async def load(self) -> None:
        """See `BaseModelHandler.load`."""
        await self._connect()

    def _new_http(self) -> Any:
        # The vendors' packages use `httpx` if it is in `sys.modules`. If another thread imported `httpx` later, for an
        # embedder or another backend, the packages could find it half imported.
        with suppress(ImportError):
            import httpx  # noqa: F401, PLC0415
        import httpx2  # noqa: PLC0415 - heavy; only needed once a model is asked

        return httpx2.AsyncClient(**self._http_options(httpx2))

    def _http_options(self, package: Any, *hooks: Hook) -> dict[str, Any]:
        """Return the arguments for a client of `httpx` or of a package modelled on it.

        `hooks` are called with each response.
        """
        return {
            # Without a read timeout: the gateway decides how long to wait.
            "timeout": package.Timeout(None, connect=self._connect_s),
            "trust_env": not is_loopback(self._base_url),
            "verify": load_authorities(),
            # A prompt is the owner's code: it must reach only the configured address.
            "follow_redirects": False,
            "headers": UNCOMPRESSED,
            "event_hooks": {"response": [limit_responses(package), *hooks]},
        }

    async def aclose(self) -> None:
        """Close the connections."""
        http, self._http, self._api = self._http, None, None
        if http is not None:
            await http.aclose()

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """See `BaseModelHandler.generate`.

        `extra` contains the tokens read from and written to the prompt cache.
        """
        began, take = time.monotonic(), on_text or (lambda _piece: None)
        for _ in range(MOST_LESSONS):
            asked = self._within_window(request)
            try:
                completion = await self._ask(asked, take)
            except RequestRefused as refused:
                if PHRASES["used_up"].search(refused.words):
                    return self._report_used_up(asked)
                if refused.status == 200 or not self._learn(asked, refused):  # a refusal by the model teaches nothing
                    raise
                if PHRASES["reply"].search(refused.words) and (room := read_room(refused.words)):
                    request = replace(request, max_tokens=min(room, request.max_tokens or room))
            else:
                self._has_called |= bool(request.tools)
                if completion.thoughts and "thinks" not in self.facts.learnt:
                    self.facts.note("thinks")
                return replace(completion, latency_s=time.monotonic() - began)
        raise ModelRefused(f"{self._where} refuses one parameter after the other")

    def _report_used_up(self, request: ModelRequest) -> Completion:
        """Return the empty reply of a server that says as an error that thinking used up the reply."""
        spent = request.max_tokens or 0
        return Completion(
            text="", backend=self.name, model=self.model, tokens_out=spent, finish=Finish.LENGTH, author=self.label
        )

    def _within_window(self, request: ModelRequest) -> ModelRequest:
        """Limit the reply to what the server allows, and to the room that the prompt leaves in the window."""
        prompt = self.token_estimator.tokens(request)
        room = max(1, window - prompt) if (window := self.known_window) else None
        limits = [limit for limit in (request.max_tokens, self.facts.reply, room) if limit]
        return replace(request, max_tokens=min(limits, default=None))

    async def _ask(self, request: ModelRequest, take: OnText) -> Completion:
        api = await self._connect()
        history = as_history(request, api, self.label, self.ids, self.facts.lacks)
        parameters, settings = parameters_of(request), self._all_settings(request)
        messages = api.prepare_messages(history, parameters)
        with watch_stream(lambda: take(""), expects_events=True) as watch, self._translate_errors(watch):
            try:
                async with api.request_stream(messages, settings, parameters) as stream:  # type: ignore[arg-type]
                    async for event in stream:
                        for piece in pieces_of(event):
                            take(piece)
            finally:
                await watch.aclose()
            response, details = stream.get(), stream.get().provider_details or {}
            if reason := details.get("block_reason") or details.get("refusal"):
                take(reason)  # a refusal that comes in the middle of a reply costs money too
                raise RequestRefused(f"{self.vendor} refuses the prompt ({reason})", status=200)
            if not (watch.is_done or details.get("finish_reason")):
                raise self._cut_off(watch)
            completion = as_completion(response, backend=self.name, model=self.model)
        return replace(completion, author=self.label)

    def _all_settings(self, request: ModelRequest) -> dict[str, Any]:
        lacks, thinking = self.facts.lacks, self._thinking(request)
        wanted = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature if self._takes_temperature() else None,
            "parallel_tool_calls": False if "parallel" in lacks and request.tools else None,
            "thinking": None if "thinking" in lacks else thinking and (thinking is not Thinking.OFF and thinking.value),
            **self._settings(request),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def _learn(self, request: ModelRequest, refused: RequestRefused) -> bool:
        """Learn from a refusal; return True if the request may succeed when it is repeated.

        Raises:
            ToolsRefused: the refusal is about the tools.
            PromptTooLong: the refusal is about the prompt's length; the context window has been learned from it.
        """
        status, words = refused.status, refused.words
        prompt = self.token_estimator.tokens(request)
        if PHRASES["thoughts_back"].search(words) and any(
            turn.tool_calls and turn.author != self.label for turn in request.messages
        ):
            raise ToolsRefused(f"{self.vendor} wants the thoughts of another model back: {words}")
        if self.facts.learn(status, words, self._features(request), request.max_tokens):
            return True
        if PHRASES["parallel"].search(words) and any(len(turn.tool_calls) > 1 for turn in request.messages):
            return self.facts.note("no parallel")
        if request.tools and blames_tools(status, words):
            # One odd refusal does not disable a feature that worked before. A single call that the server could not
            # parse does not disable tools either.
            if not (self._has_called or "parsing" in words or "tool_use_failed" in words):
                self.facts.note("no tools")
            raise ToolsRefused(
                f"{self.vendor} accepts no tool calls for {self.model}, so Nightshift makes them as text: {words}"
            )
        if window := self.facts.learn_window(words, prompt):
            if prompt + MOST_SLACK < window and (request.max_tokens or window) + prompt > window:
                return True
            raise too_long(self.model, window) from refused
        return False

    def _features(self, request: ModelRequest) -> set[str]:
        """Return the names of the features in a request that can be the reason for a refusal."""
        sent, body = self._all_settings(request), self._body(request)
        thinks = {"thinking"} if body.keys() & THINKING_FIELDS else set[str]()
        return {"system", "stream", "stream_options", "store", "include", *sent, *body, *thinks}

    @contextmanager
    def _translate_errors(self, watch: StreamWatch) -> Iterator[None]:
        """Convert errors of the library, of the vendor's package and of its HTTP client to our errors."""
        import httpx2  # noqa: PLC0415 - loaded by `_connect`
        from pydantic_ai import exceptions as pai  # noqa: PLC0415

        try:
            yield
        except (pai.ModelConnectionError, httpx2.HTTPError, httpx2.StreamError) as error:
            raise ModelUnavailable(self._say_broken(error.__cause__ or error)) from error
        except pai.ModelHTTPError as error:
            how, headers = ("broke off", {}) if error.in_stream else ("", error.headers or {})
            raise self._refusal(error.status_code, self._words_of(error), how, headers) from error
        except pai.ModelAPIError as error:
            raise self._event_error(error) from error
        except pai.UnexpectedModelBehavior as error:
            raise self._cut_off(watch, error) from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            # The packages build objects without validation. If a server sends another format, errors like these follow.
            detail = f"{type(error).__name__}: {quote(error, self._key)}"
            raise ModelUnavailable(
                f"{self._where} sent an answer that is not in the format of its API ({detail})"
            ) from error

    def _say_broken(self, error: BaseException) -> str:
        detail = quote(error, self._key) or type(error).__name__
        return f"{self._where}: the connection failed or the answer broke off ({detail})"

    def _cut_off(self, watch: StreamWatch, error: Exception | None = None) -> ModelUnavailable:
        """Return the error for a stream that was truncated, or for a response that is not a stream at all."""
        if detail := quote(watch.beginning, self._key):
            return ModelUnavailable(f"{self._where} did not send a stream of events, but: {detail}")
        return ModelUnavailable(self._say_broken(error or EOFError("the stream ended without its final event")))

    def _refusal(self, status: int, words: str, how: str, headers: Mapping[str, str] | None = None) -> ModelError:
        is_missing = status == 404 and bool(self.offered) and self.model not in self.offered
        if is_missing or (status in {400, 404} and self.model in words and PHRASES["no_model"].search(words)):
            offered = f"; it offers {', '.join(self.offered[:5])}" if self.offered else ""
            return BackendMisconfigured(f"{self.vendor} has no model {self.model}: {words}{offered}")
        fix = f"Check the key, the model ({self.model}) and the address ({self._base_url})"
        error = from_status(f"{self.vendor} {how}".strip(), status, headers or {}, words, fix=fix)
        if isinstance(error, RequestRefused) or is_refusal(status, words):
            return RequestRefused(str(error), status=status, words=words)
        return error

    def _elsewhere(self, response: Any) -> ModelUnavailable:
        there = quote(response.headers.get("location", "nowhere"), self._key)
        fix = "set that address if it is right; log in if it is a login page"
        answered = f"{self._where} answered {response.status_code}"
        return ModelUnavailable(f"{answered} and redirects to {there}: {fix}")

    def _event_error(self, error: Any) -> ModelError:
        """Return the error for a failure without an HTTP status.

        Such failures occur at the end of a stream, and for redirects, which the packages report without their status.
        """
        response = getattr(error.__cause__, "response", None)
        if response is not None and 300 <= response.status_code < 400:
            return self._elsewhere(response)
        return self._error_of_stream(self._words_of(error), error.provider_error_type)

    def _words_of(self, error: Any) -> str:
        return quote(words_of(error.body) or error.message, self._key)

    def _error_of_stream(self, words: str, kind: str | None = None) -> ModelError:
        """Return the error for a server's message in the middle of a stream."""
        is_refusal = blames_context(words) or (kind or "api_error") not in _PASSING
        return self._refusal(400 if is_refusal else 500, words, "broke off")
