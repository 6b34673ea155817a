"""The repositories' page: a repository's settings are shown, changed, refused with a reason, and removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browser import Visit, Watch
from tests.support.git_repo import make_repo
from tests.support.seeded_home import SeededDaemon

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {
        "pyproject.toml": "[tool.ruff]\n\n[tool.pytest.ini_options]\ntestpaths = ['tests']\n", "shop.py": "",
        "Makefile": "test:\n\tpytest\n", "AGENTS.md": f"Type `pytest '{HOSTILE}'` here.\n",
    }  # fmt: skip
    return make_repo(tmp_path_factory.mktemp("owner") / "shop", files)


def option(page: Page, name: str) -> Locator:
    return page.locator(f"[data-option={name}]")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").click()


def test_found_values_and_commands_are_shown_with_their_places(visit: Visit, repo: Path) -> None:
    page = visit("/repositories")
    expect(page.get_by_role("table", name="Repositories").get_by_role("link", name="own workspace")).to_be_visible()
    page.get_by_label("Another repository").fill(str(repo))
    page.get_by_role("button", name="Show").click()
    expect(option(page, "test_paths")).to_contain_text("pyproject.toml:4")
    expect(option(page, "test_paths").locator("input")).to_have_attribute("placeholder", "tests")
    expect(option(page, "test_command")).to_contain_text("found: sh -c")
    expect(page.get_by_role("table", name="Commands")).to_contain_text(HOSTILE)
    expect(option(page, "allow").locator("input")).to_have_count(0)


def test_what_is_saved_holds_and_is_taken_back(visit: Visit, repo: Path, seeded: SeededDaemon) -> None:
    page = visit(f"/repositories?repo={repo}")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    option(page, "wall_s").locator("input").fill("90")
    option(page, "test_command").locator("input").fill("make 'a b'")
    option(page, "review").locator("input").fill("on")
    save(page)
    expect(option(page, "wall_s")).to_contain_text("set here")
    shown = seeded.daemon.get(f"/api/repositories/settings?repo={repo}")["options"]
    stored_values = {each["name"]: each["kept"] for each in shown if each["kept"] is not None}
    assert stored_values == {"wall_s": 90, "test_command": ["make", "a b"], "review": True}
    page.reload()
    expect(option(page, "test_command").locator("input")).to_have_value("make 'a b'")
    page.get_by_role("button", name="Remove test_command").click()
    expect(option(page, "test_command").locator("input")).to_have_value("")
    expect(page.get_by_role("button", name="Remove test_command")).to_have_count(0)
    option(page, "wall_s").locator("input").fill("")
    save(page)
    expect(option(page, "wall_s")).to_contain_text("settings")


def test_what_is_wrong_is_told_beside_its_field(visit: Visit, watch: Watch, repo: Path) -> None:
    watch.allow("400 PATCH .*/api/repositories/settings")
    page = visit(f"/repositories?repo={repo}")
    option(page, "linters").locator("input").fill("ruff, pylint")
    option(page, "cost_usd").locator("input").fill("much")
    save(page)
    expect(option(page, "linters").get_by_role("alert")).to_contain_text("ruff, flake8, mypy")
    expect(option(page, "cost_usd").get_by_role("alert")).to_contain_text("for example 1.5")
    expect(option(page, "linters").locator("input")).to_have_value("ruff, pylint")
