"""Checks of the hub: whether it answers, has a matching schema, and has a safe connection."""

from __future__ import annotations

from collections.abc import Iterator

from nightshift.app.doctor.context import CheckContext, Finding, fault, note, ok, warning
from nightshift.app.extras import EXTRAS
from nightshift.config.load import Settings
from nightshift.core.errors import HubAway, HubRefused
from nightshift.core.program import format_command
from nightshift.core.status import install_by_hand
from nightshift.remote.hub.access import Access, access
from nightshift.remote.hub.database import SharedDatabase
from nightshift.remote.hub.shared_schema import ROLE
from nightshift.remote.hub.shared_schema import check as check_schema
from nightshift.server.serving.listen import is_loopback, is_wildcard


def check_hub(context: CheckContext) -> Iterator[Finding]:
    """Send requests to the hub that the settings name, and yield the findings."""
    url = context.settings.hub_url
    if url is None:
        yield ok("hub", "this machine works alone (HUB_URL is not set)")
        return
    if not EXTRAS["hub"].is_installed:
        yield fault("packages", "those for a hub are not installed", install_by_hand("hub"))
        return
    try:
        yield from _ask(url)
    except HubAway as error:
        yield warning("hub", str(error), "check its server; nodes finish what they have and hand it in later")
    except HubRefused as error:
        yield fault("hub", str(error), f"correct HUB_URL, or type `{format_command('hub init')}`")
    else:
        yield from address(context.settings)
    if context.settings.hub_database_url:
        yield from _ask_database(context.settings.hub_database_url.get_secret_value())


def _ask(url: str) -> Iterator[Finding]:
    from nightshift.remote.hub.connection import HubConnection  # noqa: PLC0415  an extra
    from nightshift.remote.hub.control import check  # noqa: PLC0415  as above
    from nightshift.remote.hub.nodes import overview  # noqa: PLC0415  as above

    connection = HubConnection(url)
    try:
        check(connection)
        yield ok("hub", "it answers, and its namespace is ready")
        if len(versions := overview(connection).versions) > 1:
            text = f"nodes run different versions: {', '.join(versions)}"
            yield warning("versions", text, "bring the older ones to the newest version")
    finally:
        connection.close()


def _ask_database(url: str) -> Iterator[Finding]:
    database = SharedDatabase(url, most=1)
    try:
        check_schema(database)
        yield ok("database", "it answers, and its schema fits")
        yield from judged(access(database))
    except HubAway as error:
        yield warning("database", str(error), "check its server; lessons are shared later")
    except HubRefused as error:
        yield fault("database", str(error), f"correct HUB_DATABASE_URL, or `{format_command('hub init')}` as its owner")
    finally:
        database.close()


def judged(access: Access) -> Iterator[Finding]:
    """Yield findings on the connection to the shared database, and on this user's rights there."""
    if access.is_remote and not access.is_encrypted:
        text = f"what is sent to {access.address} can be read on the way: no TLS"
        yield fault("TLS", text, "set ssl = on at the server, and add ?sslmode=verify-full to HUB_DATABASE_URL")
    elif access.is_remote and not access.is_verified:
        text = f"it is on, but the server's identity is not checked (sslmode={access.sslmode})"
        yield warning("TLS", text, "add ?sslmode=verify-full&sslrootcert=FILE to HUB_DATABASE_URL")
    elif access.is_remote:
        yield ok("TLS", f"it is on (sslmode={access.sslmode})")
    else:
        yield ok("TLS", "the database is on this machine")
    if access.may_alter:
        yield note(
            "rights", "this user may alter the database's schema", f"a user with GRANT {ROLE} alone is enough here"
        )


def address(settings: Settings) -> Iterator[Finding]:
    """Check whether the dashboards of other nodes can link to this node's dashboard."""
    if not settings.node_url and (is_loopback(settings.flask_host) or is_wildcard(settings.flask_host)):
        text = f"other nodes' dashboards cannot link to this one: {settings.flask_host} is not an address for them"
        yield note("address", text, "set NODE_URL to where others reach it")
