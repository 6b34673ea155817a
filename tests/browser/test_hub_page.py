"""The hub's page, on a daemon that is one of its nodes.

The test adds other nodes and tasks through the hub's interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from nightshift.core.tasks.states import Status, with_failure
from nightshift.remote.hub.control import read_settings
from nightshift.remote.hub.nodes import nodes
from tests.browser.test_access_for_all import OUT_OF_REACH, SMALLEST, faults, wide_things
from tests.browser.test_access_for_all import open_page as visited
from tests.support.browser import NARROW, WIDE, Watch, context_of
from tests.support.daemon import Daemon, settings_for, until
from tests.support.light_node import LightNode, light_node
from tests.support.temporal import TemporalServer, needs_server
from tests.support.wire_server import WireServer

pytestmark = needs_server
EVIL = "<img src=x onerror=alert(1)>"
ELSEWHERE = "rack"
"""A node label that only this test's nodes have, so that the daemon takes none of the test's tasks."""
FAILURE = "test_basket.py::test_restart: AssertionError: assert 0 == 2"
REASON = with_failure("Gave up after 3 tries, the limit", FAILURE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """A daemon called atelier, with other nodes on its hub.

    The node rack-01 is up, laptop was lost, and one node reports hostile texts.
    """

    daemon: Daemon
    server: TemporalServer
    url: str
    rack: LightNode

    def submit(self, text: str, priority: int = 1) -> int:
        shop = "git@example.org:shop.git"
        number = self.rack.submit(text, needs=self.rack.node.labels, repository=shop, share=shop, priority=priority)
        until(lambda: self.rack.is_looked_at(number))
        return number


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("hub")
    with ExitStack() as stack:
        server = stack.enter_context(TemporalServer(folder / "temporal.db", namespaces=1))
        url, models = server.ready(), stack.enter_context(WireServer())
        with light_node(url, "laptop", id="l", labels=["linux"], slots=2, version="0.1.0", lease_s=0.5):
            pass
        evil = "javascript:alert(1)//http://x"
        with light_node(url, EVIL, id="m", labels=[EVIL], slots=1, url=evil, version="0.1.0", state=EVIL):
            pass
        labels = ["go", "gpu", "linux", ELSEWHERE, "repo:git@example.org:shop"]
        says = {"url": "http://rack-01.example:5000/", "version": "0.1.0", "busy": 1, "state": "working"}
        rack = stack.enter_context(light_node(url, "rack-01", id="r", public_key="AA==", labels=labels, **says))
        settings = settings_for(models, HUB_URL=url, NODE_NAME="atelier", HUB_LEASE_S="60")
        daemon = stack.enter_context(Daemon(folder / "home", settings))
        rig = Rig(daemon=daemon, server=server, url=url, rack=rack)
        until(lambda: "atelier" in {node.name for node in nodes(rack.connection) if node.is_up})
        fill(rig)
        yield rig


def fill(rig: Rig) -> None:
    rig.submit("Let the basket keep what was in it over a restart of the shop")
    rig.rack.end(rig.rack.take(), Status.FAILED, reason=REASON)
    rig.submit("Add a health check")
    rig.rack.take(103)
    rig.submit(EVIL)
    rig.submit("Write the changelog of the week")
    until(lambda: rig.rack.queue.counts()[Status.QUEUED] == 2)


@pytest.fixture
def url(rig: Rig) -> str:
    return rig.daemon.url


@pytest.fixture
def page(watched: tuple[Page, Watch]) -> Page:
    return visited(watched[0], "/hub")


def row(page: Page, table: str, name: str) -> Locator:
    return page.get_by_role("table", name=table).get_by_role("row").filter(has_text=name)


def test_nodes_are_rows_with_their_state_and_a_link_to_their_dashboards(page: Page) -> None:
    rack = row(page, "Nodes", "rack-01")
    for words in ("up", "working", "1 of 4", "gpu", "0.1.0"):
        expect(rack).to_contain_text(words)
    expect(rack.get_by_role("link", name="rack-01")).to_have_attribute("href", "http://rack-01.example:5000")
    expect(row(page, "Nodes", "laptop")).to_contain_text("lost")
    expect(row(page, "Nodes", "atelier")).to_contain_text("this one")
    standing = page.locator("#overall").text_content() or ""
    assert standing
    expect(row(page, "Nodes", "atelier")).to_contain_text(standing)  # the same text as on the node's own pages
    evil = row(page, "Nodes", EVIL)
    expect(evil).to_be_visible()
    expect(evil.get_by_role("link")).to_have_count(0)


def test_a_result_that_its_node_did_not_sign_is_marked(page: Page, rig: Rig) -> None:
    rig.submit("Mend the gutter of the shop", priority=100)
    taken = rig.rack.take()
    expect(row(page, "Tasks", "gutter")).not_to_contain_text("Not signed")
    rig.rack.end(taken, commit="c0ffee", signature="AA==")
    expect(row(page, "Tasks", "gutter")).to_contain_text("Not signed by rack-01")


def test_a_task_is_cancelled_brought_back_and_made_urgent(page: Page, rig: Rig) -> None:
    number = rig.submit("Translate the imprint")
    mine = row(page, "Tasks", "imprint")
    expect(mine).to_be_visible()
    mine.get_by_role("button", name=f"Cancel task {number}").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel task").click()
    expect(mine).to_contain_text("cancelled")
    page.get_by_role("button", name="Undo").click()
    expect(mine).to_contain_text("queued")
    mine.get_by_role("button", name=f"Priority 1 task {number}").click()
    page.get_by_role("dialog").get_by_label("Priority").fill("7")
    page.get_by_role("dialog").get_by_role("button", name="Set priority").click()
    expect(mine.get_by_role("button", name=f"Priority 7 task {number}")).to_be_visible()
    assert rig.rack.queue.get(number).priority == 7
    rig.rack.queue.cancel(number)


def test_a_node_is_drained_and_let_in_again_and_all_are_paused(page: Page, rig: Rig) -> None:
    page.get_by_role("button", name="Drain rack-01").click()
    expect(row(page, "Nodes", "rack-01")).to_contain_text("draining")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Drain rack-01")).to_be_visible()
    page.get_by_role("button", name="Pause all nodes").click()
    expect(page.get_by_text("No node takes a task: paused on atelier")).to_be_visible()
    assert read_settings(rig.rack.connection).paused == "paused on atelier"
    page.get_by_role("button", name="Resume all nodes").click()
    expect(page.get_by_role("button", name="Pause all nodes")).to_be_visible()
    assert read_settings(rig.rack.connection).paused is None


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True), (SMALLEST, False)])
def test_it_is_for_everybody(browser: Browser, rig: Rig, size: tuple[int, int], dark: bool) -> None:
    with context_of(browser, rig.daemon.url, size=size, dark=dark) as context:
        page = visited(context.new_page(), "/hub")
        expect(page.get_by_role("table", name="Tasks")).to_be_visible()
        assert faults(page) == []
        assert wide_things(page) == []
        assert page.evaluate(OUT_OF_REACH) == []


def test_a_hub_that_is_away_is_told_what_was_known_stays_and_it_comes_back(browser: Browser, rig: Rig) -> None:
    with context_of(browser, rig.daemon.url) as context:
        page = visited(context.new_page(), "/hub")
        expect(row(page, "Tasks", "changelog")).to_be_visible()
        rig.server.kill()
        banner = page.get_by_role("region", name="The hub is away")
        expect(banner).to_contain_text("This node finishes what it has; results are handed in later.")
        expect(row(page, "Nodes", "rack-01")).to_be_visible()
        expect(row(page, "Tasks", "changelog")).to_be_visible()
        expect(page.get_by_role("button", name="Drain rack-01")).to_be_disabled()
        assert faults(page) == []
        rig.server.start()
        expect(banner).to_have_count(0)
        expect(page.get_by_role("button", name="Drain rack-01")).to_be_enabled()
