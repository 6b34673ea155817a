"""The hub: whether it answers, has a schema that fits, and is reached safely."""

from __future__ import annotations

from collections.abc import Iterator

from nightshift.app.doctor.context import CheckContext, Finding, fault, note, ok, warning
from nightshift.app.extras import EXTRAS
from nightshift.config.load import Settings
from nightshift.core.errors import HubAway, HubRefused
from nightshift.core.program import format_command
from nightshift.core.status import install_by_hand
from nightshift.remote.hub.access import Access, access
from nightshift.remote.hub.connection import HubConnections
from nightshift.remote.hub.migrations import ROLE, check
from nightshift.server.serving.listen import is_loopback, is_wildcard


def check_hub(context: CheckContext) -> Iterator[Finding]:
    """Ask the hub of the settings."""
    url = context.settings.hub_url
    if url is None:
        yield ok("hub", "this machine works alone (HUB_URL is not set)")
        return
    if not EXTRAS["hub"].is_installed:
        yield fault("packages", "those for a hub are not installed", install_by_hand("hub"))
        return
    connections = HubConnections(url.get_secret_value(), most=1)
    try:
        yield ok("hub", f"it answers, with version {check(connections)} of its schema")
        found = access(connections)
    except HubAway as error:
        yield warning("hub", str(error), "see to its server; nodes finish what they have and hand it in later")
    except HubRefused as error:
        yield fault("hub", str(error), f"correct HUB_URL, or `{format_command('hub init')}` as the database's owner")
    else:
        yield from judged(found)
        yield from address(context.settings)
    finally:
        connections.close()


def judged(found: Access) -> Iterator[Finding]:
    """Yield findings on the connection to the hub, and on the rights there."""
    if found.is_remote and not found.is_encrypted:
        text = f"what is sent to {found.address} can be read on its way: no TLS"
        yield fault("TLS", text, "set ssl = on at the server, and add ?sslmode=verify-full to HUB_URL")
    elif found.is_remote and not found.is_verified:
        text = f"it is on, and the server need not show who it is (sslmode={found.sslmode})"
        yield warning("TLS", text, "add ?sslmode=verify-full&sslrootcert=FILE to HUB_URL")
    elif found.is_remote:
        yield ok("TLS", f"it is on (sslmode={found.sslmode})")
    else:
        yield ok("TLS", "the hub is on this machine")
    if found.may_alter:
        yield note("rights", "this user may alter the hub's schema", f"a user with GRANT {ROLE} alone is enough here")


def address(settings: Settings) -> Iterator[Finding]:
    """Check whether other nodes' dashboards can lead to this one's."""
    if not settings.node_url and (is_loopback(settings.flask_host) or is_wildcard(settings.flask_host)):
        text = f"other nodes' dashboards cannot lead to this one's: {settings.flask_host} is no address for them"
        yield note("address", text, "set NODE_URL to where others reach it")
