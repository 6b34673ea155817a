"""The settings page in Chromium, with a running daemon."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from tests.support.browser import Watch, open_live
from tests.support.daemon import Daemon, settings_for
from tests.support.wire_server import WireServer

SECRET = "sk-never-shown-0123456789abcdef"
CONFIG = """\
# The owner's own words.
worker_count: 2   # the fan
notify_on: [failed]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer(models=("tiny-coder", "big-coder")) as server:
        yield server


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, server: WireServer) -> Iterator[Daemon]:
    """Run a daemon whose models are in config.yaml, so that the page can change them."""
    home = tmp_path_factory.mktemp("settings") / "home"
    home.mkdir()
    settings = settings_for(server)
    model = {"openai_api_key": SECRET, "openai_base_url": server.openai_base_url, "model_name": "openai=tiny-coder"}
    (home / "config.yaml").write_text(CONFIG + yaml.safe_dump(model))
    with Daemon(home, {"EMBEDDER": settings["EMBEDDER"], "TASK_TIMEOUT": "200"}) as daemon:
        yield daemon


@pytest.fixture
def url(daemon: Daemon) -> str:
    return daemon.url


@pytest.fixture
def settings(page: Page) -> Page:
    open_live(page, "/settings")
    expect(row(page, "worker_count")).to_be_visible()
    return page


def row(page: Page, name: str) -> Locator:
    return page.locator(f"[data-setting={name}]")


def field(page: Page, name: str) -> Locator:
    return page.get_by_label(name, exact=True)


def search(page: Page, words: str) -> None:
    page.get_by_label("Search the settings").fill(words)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)


def write(daemon: Daemon) -> Any:
    """Return the settings that the page has written to `settings.overrides.yaml`."""
    path = Path(daemon.home) / "settings.overrides.yaml"
    return yaml.safe_load(path.read_text()) or {} if path.exists() else {}


def test_the_number_of_workers_is_changed_while_the_daemon_runs(settings: Page, daemon: Daemon) -> None:
    owners = (Path(daemon.home) / "config.yaml").read_text()
    field(settings, "worker_count").fill("4")
    expect(settings).to_have_title(re.compile(r"1 unsaved"))
    settings.get_by_role("button", name="Show lines").click()
    lines = settings.get_by_role("region", name="Lines of settings.overrides.yaml")
    expect(lines).to_contain_text("worker_count: 4")
    assert "worker_count" not in write(daemon)
    save(settings)
    expect(settings.locator("[data-workers='4']")).to_be_visible()
    assert len(daemon.get("/api/status")["workers"]) == 4
    assert write(daemon)["worker_count"] == 4
    expect(row(settings, "worker_count")).to_contain_text("config.yaml says 2")
    settings.get_by_role("button", name="Remove worker_count").click()
    expect(row(settings, "worker_count")).to_contain_text("config.yaml will apply again")
    save(settings)
    expect(field(settings, "worker_count")).to_have_value("2")
    expect(settings.locator("[data-workers='2']")).to_be_visible()
    assert "worker_count" not in write(daemon)
    assert (Path(daemon.home) / "config.yaml").read_text() == owners


def test_a_wrong_value_is_told_beside_its_field_and_cannot_be_saved(settings: Page, daemon: Daemon) -> None:
    before = write(daemon)
    field(settings, "max_retries").fill("many")
    expect(row(settings, "max_retries").get_by_role("alert")).to_contain_text("valid integer")
    expect(field(settings, "max_retries")).to_have_attribute("aria-invalid", "true")
    expect(settings.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    settings.get_by_role("button", name="Undo max_retries").click()
    expect(field(settings, "max_retries")).to_have_value("3")
    expect(settings.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    assert write(daemon) == before


def test_a_secret_is_taken_and_never_comes_back(settings: Page, daemon: Daemon) -> None:
    bodies: list[str] = []
    settings.on("response", lambda answer: bodies.append(answer.text()) if "/api/" in answer.url and
                "stream" not in answer.url else None)  # fmt: skip
    search(settings, "notify_secret")
    field(settings, "notify_secret").fill("a-long-random-secret")
    settings.get_by_role("button", name="Show lines").click()
    expect(settings.get_by_text("notify_secret: *** (new)")).to_be_visible()
    save(settings)
    expect(field(settings, "notify_secret")).to_have_attribute("placeholder", "set; type to replace it")
    expect(field(settings, "notify_secret")).to_have_value("")
    settings.reload()
    expect(field(settings, "notify_secret")).to_have_attribute("placeholder", "set; type to replace it")
    assert write(daemon)["notify_secret"] == "a-long-random-secret"
    everything = "\n".join([*bodies, settings.content()])
    assert not [word for word in ("a-long-random-secret", SECRET) if word in everything]
    settings.get_by_role("button", name="Remove notify_secret").click()
    save(settings)
    assert "notify_secret" not in write(daemon)


def test_lists_prices_and_choices_are_written_as_they_are_meant(settings: Page, daemon: Daemon) -> None:
    field(settings, "quiet_hours").fill("22:00-07:00\nSat,Sun 00:00-24:00")
    row(settings, "notify_on").get_by_label("needs you").check()
    prices = row(settings, "model_prices")
    prices.get_by_role("button", name="Add").click()
    prices.get_by_label("model, line 1").fill("tiny-coder")
    prices.get_by_label("in, $ per million, line 1").fill("0.25")
    expect(prices.get_by_role("alert")).to_be_visible()
    prices.get_by_label("out, $ per million, line 1").fill("1")
    field(settings, "enable_review").check()
    expect(prices.get_by_role("alert")).to_have_count(0)
    save(settings)
    values = write(daemon)
    assert values["quiet_hours"] == ["22:00-07:00", "Sat,Sun 00:00-24:00"]
    assert values["notify_on"] == ["failed", "needs_you"]
    assert values["model_prices"] == {"tiny-coder": {"input_per_million_usd": 0.25, "output_per_million_usd": 1}}
    assert values["enable_review"] is True
    settings.get_by_role("button", name="Default for quiet_hours").click()
    save(settings)
    assert "quiet_hours" not in write(daemon)


def test_a_file_that_was_changed_meanwhile_loses_nothing(settings: Page, daemon: Daemon, watch: Watch) -> None:
    watch.allow("409 PUT .*/api/settings$")
    search(settings, "log_")
    field(settings, "log_keep").fill("6")
    path = Path(daemon.home) / "config.yaml"
    path.write_text(path.read_text() + "log_days: 40\n")
    settings.get_by_role("button", name="Save", exact=True).click()
    expect(settings.get_by_role("region", name="Unsaved changes")).to_contain_text("changed meanwhile")
    expect(field(settings, "log_keep")).to_have_value("6")
    expect(row(settings, "log_days")).to_contain_text("config.yaml")
    save(settings)
    assert write(daemon)["log_keep"] == 6
    assert "log_days: 40\n" in path.read_text()


def test_what_is_not_saved_is_not_left_without_a_word(settings: Page, watch: Watch) -> None:
    watch.allow("dialog: ")
    asked: list[str] = []
    settings.on("dialog", lambda dialog: asked.append(dialog.type))
    search(settings, "log_keep")
    field(settings, "log_keep").fill("9")
    search(settings, "")
    expect(settings.get_by_role("region", name="Unsaved changes")).to_be_visible()
    settings.get_by_role("link", name="Dashboard", exact=True).first.click()
    assert asked == ["beforeunload"]
    expect(field(settings, "log_keep")).to_have_value("9")
    settings.get_by_role("button", name="Undo all").click()
    expect(settings.get_by_role("region", name="Unsaved changes")).to_have_count(0)
