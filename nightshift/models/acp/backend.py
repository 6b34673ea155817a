"""An agent as a backend of the chain. The change that the agent makes in its copy of the files becomes the reply.

The agent gets the same request as a model. In phases that need files (CODING, TESTING), the files that the agent
changed are written into the reply in the same form that models use. The reply is then parsed, checked and judged like
any other, without regard to its author. In all other phases the agent's last message is the reply, and its changes to
the copy are ignored.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from nightshift.core.dialogue import Completion, Finish, Material, ModelRequest, file_block
from nightshift.core.errors import ModelRefused, ModelUnavailable, SandboxError
from nightshift.core.events import Kind, Level
from nightshift.core.isolation import WORK, Ended
from nightshift.core.tasks.states import Phase
from nightshift.core.text.encoding import encode
from nightshift.core.text.masking import printable
from nightshift.models.acp.agent import GRACE_S, AgentPlace, AgentRun, AgentSettings, start_agent
from nightshift.models.acp.protocol import AgentSession, NotLoggedIn, PeerFault, PeerGone, RpcError, Turn
from nightshift.models.acp.working_copy import Harvest, OutsideCopy, WorkingCopy
from nightshift.models.base import BackendSettings, BaseModelHandler, OnText, events_about
from nightshift.models.errors import BackendMisconfigured, TimedOut

WRITES = frozenset({Phase.CODING, Phase.TESTING})
"""Phases whose replies consist of files."""
_ENDS = {
    Ended.TIMEOUT: "took too long",
    Ended.OUTPUT_LIMIT: "wrote too much to its standard error",
    Ended.OUT_OF_MEMORY: "used too much memory",
}
_LAST_CHARS = 600
_MOST_SUMMARY = 180
_SUMMARY = re.compile(r"^\W{0,4}Summary\W{0,4}[:=][ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_MARKS = str.maketrans("", "", "`~<")
_WRITE = (
    f"You work in {WORK}, which is a copy of the repository with the change so far. Do what is asked below by changing "
    "files there with your own tools: where the text asks you to send files or edits in a form, change the files in "
    "place of that, and do not repeat them in your answer. Only what you leave changed below that folder counts, and "
    "it is tested elsewhere afterwards. There is no git there, and no network but to your own service. End with one "
    "line, `Summary: what the change does`. If there is nothing to change, say so in the one line that is described "
    "below instead.\n"
)
_ANSWER = (
    f"You work in {WORK}, which is a copy of the repository with the change so far. You may look at all of it, but "
    "nothing that you change there counts. Answer what is asked below in words, in the form that it asks for, and put "
    "the whole answer into your last message.\n"
)


class AcpBackend(BaseModelHandler):
    """An agent that speaks the Agent Client Protocol. Each request starts a new process.

    Args:
        settings: the agent to start.
        site: returns the place where the agent runs, or the reason why it cannot run, in words for the owner.
        model: the model's name; None for the name of the agent's program.
    """

    name = "acp"
    streams = False  # a tool call may produce no output for minutes; `turn_s` limits that
    needs_sandbox = own_tools = True
    setup = "set ACP_COMMAND to an agent that speaks the Agent Client Protocol, and ACP_HOSTS and ACP_VARIABLES for it"

    def __init__(self, settings: AgentSettings, site: Callable[[], AgentPlace | str], model: str | None = None) -> None:
        super().__init__(model=model or Path(settings.command[0]).name)
        self._settings, self._site = settings, site

    @classmethod
    def from_settings(cls, settings: BackendSettings, model: str | None) -> Self | None:
        """Return the agent that the settings configure, or None."""
        agent = settings.acp_agent(model) if settings.acp_agent else None
        return agent if isinstance(agent, cls) else None

    def is_available(self) -> bool:
        """Check that the program exists, that it can run inside the sandbox, and that there is a sandbox."""
        site = self._site()
        self.detail = self._settings.fault or (site if isinstance(site, str) else "")
        return not self.detail

    async def generate(self, request: ModelRequest, *, on_text: OnText | None = None) -> Completion:
        """Send the request to the agent, and return the agent's change or last message as the reply."""
        site, began_s = self._site(), time.monotonic()
        if isinstance(site, str):
            raise ModelUnavailable(f"the agent cannot be started: {site}")
        with tempfile.TemporaryDirectory(prefix="run-", dir=site.folder, ignore_cleanup_errors=True) as folder:
            copy = WorkingCopy(Path(folder) / "work")
            await asyncio.to_thread(copy.lay_out, list(_files(request.material)))
            session = AgentSession(on_text or (lambda _piece: None))
            turn, run = await self._work(site, session, copy, request)
            writes = request.phase in WRITES and request.material is not None
            harvest = await asyncio.to_thread(_take_harvest, copy) if writes else Harvest()
        self._report(request, turn, run, harvest)
        text, finish = _reply(turn, harvest)
        tokens_in, tokens_out = turn.tokens or (0, 0)
        return Completion(
            text=text,
            backend=self.name,
            model=self.model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=turn.cost_usd,
            latency_s=time.monotonic() - began_s,
            finish=finish,
            extra={"own_calls": True} if turn.tokens else {},
        )

    async def _work(
        self, site: AgentPlace, session: AgentSession, copy: WorkingCopy, request: ModelRequest
    ) -> tuple[Turn, AgentRun]:
        """Return the agent's answer and the run that produced it. The agent has ended by then.

        Raises:
            ModelUnavailable: the agent died, broke the protocol or exceeded a limit.
            BackendMisconfigured: the agent needs a login.
        """
        async with start_agent(self._settings, site, copy, session) as run:
            talk = asyncio.create_task(self._talk(run, session, request))
            try:
                await asyncio.wait({talk, run.ended}, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait({talk}, timeout=GRACE_S)
                if not talk.done():
                    raise ModelUnavailable(await self._why_gone(run))
                return talk.result(), run
            except PeerGone:
                raise ModelUnavailable(await self._why_gone(run)) from None
            except NotLoggedIn as error:
                raise BackendMisconfigured(f"{self.model}: {error}") from None
            except (PeerFault, RpcError) as error:
                raise ModelUnavailable(f"{self.model}: {error}") from None
            finally:
                talk.cancel()
                await asyncio.gather(talk, return_exceptions=True)

    async def _talk(self, run: AgentRun, session: AgentSession, request: ModelRequest) -> Turn:
        asked: asyncio.Task[Turn] | None = None
        try:
            async with asyncio.timeout(self._settings.turn_s):
                await session.begin(run.connection, self._settings.auth_method)
                asked = asyncio.create_task(session.prompt(run.connection, _prompt(request)))
                return await asyncio.shield(asked)
        except TimeoutError:
            if asked is None:
                raise TimedOut(f"{self.model} did not open a session within {self._settings.turn_s:g} s") from None
            await session.cancel(run.connection)
            await asyncio.wait({asked}, timeout=GRACE_S)
            return session.cut_short()
        finally:
            if asked is not None:
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)

    async def _why_gone(self, run: AgentRun) -> str:
        """Return why the agent ended, with the end of its standard error."""
        await asyncio.wait({run.ended}, timeout=GRACE_S)
        if not run.ended.done():
            return f"{self.model} closed its output and did not end"
        try:
            result = run.ended.result()
        except SandboxError as error:
            return f"{self.model} was ended: {error}"
        how = _ENDS.get(result.ended, f"ended with {result.exit_code}")
        words = printable(result.stderr[-_LAST_CHARS * 4 :]).strip()[-_LAST_CHARS:]
        return f"{self.model} {how}" + (f"; its last error output: {words}" if words else "")

    def _report(self, request: ModelRequest, turn: Turn, run: AgentRun, harvest: Harvest) -> None:
        """Emit an event that lists the refused permissions, the refused connections and the ignored changes."""
        lines = [
            *(f"{what} (refused)" for what in turn.refused),
            *(f"{what} (no network)" for what in run.proxy.refused),
            *(f"{path}: {why}" for path, why in harvest.dropped.items()),
        ]
        if lines and request.material and request.material.emit:
            about = events_about(request, request.material.emit)
            text = printable(f"{self.model} tried to do what is not allowed: {'; '.join(lines[:10])}", max_chars=500)
            about.emit(Kind.AGENT_REFUSED, text, level=Level.WARNING, refused=[printable(line) for line in lines[:20]])


def _files(material: Material | None) -> Iterator[tuple[str, bytes]]:
    """Yield the task's files as the request's phase needs them, with the change so far and the tests applied."""
    if material is None:
        return
    state = material.state
    over = {**state.change, **state.test_changes, **material.context.tests_beside(state)}
    for path in material.tree.entries():
        if path not in over:
            yield path, material.tree.read(path)
    for path, text in over.items():
        if text is not None:
            yield path, encode(text)


def _take_harvest(copy: WorkingCopy) -> Harvest:
    try:
        return copy.harvest()
    except OutsideCopy as error:
        raise ModelUnavailable(f"Nightshift cannot use the agent's change: {error}") from error


def _prompt(request: ModelRequest) -> str:
    head = _WRITE if request.phase in WRITES else _ANSWER
    return "\n\n".join([head, *(message.text for message in request.messages)])


def _reply(turn: Turn, harvest: Harvest) -> tuple[str, Finish]:
    """Return the text of the reply and its finish reason.

    Raises:
        ModelRefused: the agent refuses the request.
        TimedOut: the time was over before the agent had changed anything.
    """
    if harvest.files:
        blocks = [file_block(path, text) for path, text in sorted(harvest.files.items())]
        return "\n\n".join([f"Summary: {_summary(turn, harvest)}", *blocks]) + "\n", Finish.STOP
    if turn.reason == "refusal":
        raise ModelRefused(
            f"the agent refused the request: {printable(turn.text, max_chars=300) or 'it gave no reason'}"
        )
    if turn.reason == "cancelled":
        raise TimedOut("the agent ran out of time before it changed anything")
    return turn.text, Finish.LENGTH if turn.reason in {"max_tokens", "max_turn_requests"} else Finish.STOP


def _summary(turn: Turn, harvest: Harvest) -> str:
    """Return a one-line summary of the change. Markup is removed, since the agent's text may look like a file block."""
    summary = _SUMMARY.search(turn.text)
    words = (summary[1] if summary else turn.text.strip().partition("\n")[0]).translate(_MARKS)
    return " ".join(words.split())[:_MOST_SUMMARY] or f"Change {', '.join(sorted(harvest.files)[:3])}"
