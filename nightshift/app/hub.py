"""Makes this daemon a node of a hub, if HUB_URL is set."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from nightshift.app.labels import machine_labels
from nightshift.app.services import Services
from nightshift.app.store import StoreServices
from nightshift.config.load import Settings
from nightshift.core.errors import HubError
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.hub import LandingPort, NodeState
from nightshift.core.tasks.revisions import Workspace
from nightshift.core.version import VERSION
from nightshift.git.manager import GitManager
from nightshift.git.sharing import short
from nightshift.queue.shared import share_waiting
from nightshift.remote.hub.budget import HubBudget, beat
from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.lessons import LessonExchange
from nightshift.remote.hub.repositories import WORKSPACE, SharedRepositories, label_of
from nightshift.remote.hub.shared_schema import check
from nightshift.remote.hub.vectors import SharedVectors
from nightshift.storage.db import repositories as used_repositories
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.memory.store import LongTermMemory

if TYPE_CHECKING:
    from nightshift.remote.hub.dispatcher import Dispatcher

STATE_KEY = "hub_node"
BUDGET_KEY = "hub_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubMember:
    """The parts of a daemon that is a node of a hub.

    `dispatcher` talks to the hub, `landing` lands attempts, and `budget` is the shared budget.
    """

    dispatcher: Dispatcher
    landing: LandingPort
    budget: HubBudget | None


def open_hub(
    settings: Settings,
    store: StoreServices,
    services: Services,
    state: Callable[[], NodeState],
    url: Callable[[], str],
    stack: ExitStack,
) -> HubMember | None:
    """Make the node of the hub without starting its thread; return None if the settings name no hub.

    Args:
        settings: settings of this daemon.
        store: the database and the services that use it.
        services: give access to the repositories and the memory.
        state: returns the state of this node; called on any thread.
        url: returns the address of this node's dashboard.
        stack: closes everything that is opened.

    Raises:
        ExtraMissing: the packages for the hub are not installed.
    """
    if settings.hub_url is None:
        return None
    from nightshift.remote.hub.connection import HubConnection  # noqa: PLC0415  only where there is a hub

    connection = HubConnection(settings.hub_url)
    stack.callback(connection.close)
    # These modules import Temporal's SDK, an optional package. If the SDK is missing, `HubConnection` has already
    # raised the error.
    from nightshift.remote.hub.dispatcher import Dispatcher, NodeServices  # noqa: PLC0415
    from nightshift.remote.hub.landing import Landing  # noqa: PLC0415
    from nightshift.remote.hub.signing import NodeKey  # noqa: PLC0415
    from nightshift.remote.hub.workflows import Presence  # noqa: PLC0415

    repositories = _open_repositories(settings, store, services.git)
    node = Presence(
        id=_node_id(store),
        name=node_name(settings),
        labels=sorted(set(labels(settings, repositories))),
        url=settings.node_url or url(),
        version=VERSION,
        lease_s=settings.hub_lease_s,
    )
    report = partial(Emitter(store.events.emit).emit, Kind.HUB_TASK, level=Level.WARNING)
    node_services = NodeServices(
        queue=store.queue, repositories=repositories, state=state, emit=store.events.emit, mask=store.mask
    )
    budget = None
    if settings.hub_database_url is not None:
        database = SharedDatabase(settings.hub_database_url.get_secret_value())
        stack.callback(database.close)
        share = _sharing(database, node.id, settings.hub_lease_s, store, services.memory, repositories, report)
        node_services = replace(node_services, share_lessons=share)
        budget = _budget(database, node.id, store.state)
    key = NodeKey(settings.hub_dir / "key")
    dispatcher = Dispatcher(connection, node, key, node_services)
    landing = Landing(
        connection, node.id, key, lambda workspace: _line(repositories, workspace), settings.hub_lease_s, report
    )
    store.queue.shares = repositories.shares
    store.queue.apply(share_waiting).result()  # share the waiting tasks before a worker can begin one
    stack.callback(store.events.subscribe(dispatcher.on_events))
    return HubMember(dispatcher=dispatcher, landing=landing, budget=budget)


def _open_repositories(settings: Settings, store: StoreServices, git: GitManager) -> SharedRepositories:
    return SharedRepositories(git, settings.hub_dir / "clones", lambda: used_repositories.list_used(store.db.reader()))


def _budget(database: SharedDatabase, node: str, state: StateStore) -> HubBudget:
    return HubBudget(
        database, node, is_set=bool(state.get(BUDGET_KEY)), remember=lambda is_set: state.set(BUDGET_KEY, is_set)
    )


def _sharing(
    database: SharedDatabase,
    node: str,
    lease_s: float,
    store: StoreServices,
    memory: LongTermMemory,
    repositories: SharedRepositories,
    report: Callable[[str], None],
) -> Callable[[], None]:
    """Return a function that shares lessons, vectors and budget with the hub.

    The function reports an unreachable database once and raises nothing. The memory searches the hub's vectors from now
    on.
    """
    lessons = LessonExchange(
        database, node, db=store.db, state=store.state, mask=store.mask, repositories=repositories, hear=memory.hear,
        report=report,
    )  # fmt: skip
    vectors, trouble = SharedVectors(database, node, store.db), ""
    memory.search_beside(vectors.of)

    def turn() -> None:
        nonlocal trouble
        try:
            check(database)
            beat(database, node, lease_s)
            lessons.turn()
            vectors.send(memory.better_embedder)
            trouble = ""
        except HubError as error:
            if str(error) != trouble:
                report(f"{error}; lessons are shared later")
            trouble = str(error)

    return turn


def node_name(settings: Settings) -> str:
    """Return the name of this machine on the hub."""
    return settings.node_name or socket.gethostname()[:60] or "node"


def labels(settings: Settings, repositories: SharedRepositories) -> Iterator[str]:
    """Yield labels for the abilities of this machine, and one for each repository that the machine has a copy of."""
    yield from machine_labels(settings)
    for path in repositories.list_paths():
        if remote := repositories.remote(path):
            yield label_of(remote)


def _node_id(store: StoreServices) -> str:
    """Return the id of this home; the first call generates a random id and stores it."""
    node_id = store.state.get(STATE_KEY)
    if node_id is None:
        node_id = str(uuid.uuid4())
        store.state.set(STATE_KEY, node_id).result()
    return str(node_id)


def _line(repositories: SharedRepositories, workspace: Workspace) -> str:
    """Return a name for the branch that a task moves: the repository's address and the branch name."""
    address = WORKSPACE if workspace.is_own else repositories.remote(str(workspace.repo))
    return f"{address} {short(workspace.target or '')}"
