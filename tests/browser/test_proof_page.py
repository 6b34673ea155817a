"""The proof of a commit: downloaded from its task's page, and opened as its recipient would open it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_access_for_all import faults
from tests.support.browser import NARROW, WIDE, Visit
from tests.support.seeded_home import SeededDaemon


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_a_proof_is_downloaded_and_stands_alone(
    visit: Visit, seeded: SeededDaemon, browser: Browser, tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    page = visit(f"/task/{seeded.task('second_try')}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Proof", exact=True).click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name.startswith("proof-")
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light", offline=True
    )
    with context:
        alone, asked = context.new_page(), list[str]()
        alone.on("request", lambda request: asked.append(request.url))
        alone.on("console", lambda message: asked.append(message.text))
        alone.goto(file.as_uri())
        expect(alone.get_by_role("heading", level=1)).to_contain_text("Sum what is above 1")
        expect(alone.locator(".verdict")).to_contain_text("2 tests passed")
        expect(alone.locator("tr.added").first).to_be_visible()
        expect(alone.get_by_role("region", name="Commands: The tests, on exactly this tree")).to_contain_text("pytest")
        assert asked == [file.as_uri()]
        assert alone.evaluate("document.documentElement.scrollWidth <= innerWidth")
        alone.screenshot(path=tmp_path / "proof.png", full_page=True)
    assert str(seeded.snapshot.home) not in file.read_text(encoding="utf-8")
    # The page's policy forbids all scripts, axe included, so axe checks the same markup without that policy.
    html = file.read_text(encoding="utf-8").replace("default-src 'none'; ", "")
    with browser.new_context(color_scheme="dark" if dark else "light") as looser:
        copy = looser.new_page()
        copy.set_content(html)
        assert faults(copy) == []
