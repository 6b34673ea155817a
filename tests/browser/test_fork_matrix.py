"""One step by several models on a task's page: what it will cost, how they do side by side, and integrating one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Page, expect

from nightshift.core.text.formats import money
from tests.support.answers import Answers, job
from tests.support.browser import LIVE, NARROW, WIDE, Visit
from tests.support.daemon import Daemon, settings_for
from tests.support.seeded_home import HomeSnapshot, SeededDaemon
from tests.support.wire_server import WireServer

MODELS = ["tiny-coder", "big-coder"]


class ByName(Answers):
    """`big-coder` is right, `tiny-coder` only in job 1."""

    def __init__(self) -> None:
        super().__init__()
        self.server: WireServer | None = None

    def wrong_first_of(self, n: int) -> int:
        assert self.server
        return 0 if n == 1 or self.server.requests[-1].body["model"] == "big-coder" else 1000


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededDaemon]:
    """A home with two models that have a price, and one task of the small one that failed and one that did not."""
    home, answers = HomeSnapshot(folder=tmp_path_factory.mktemp("matrix"), tasks={}), ByName()
    price = {"input_per_million_usd": 10, "output_per_million_usd": 40}
    with WireServer(answers, models=MODELS) as server:
        answers.server = server
        names = ",".join(f"openai={name}" for name in MODELS)
        prices = {"DAY_COST_USD": "5", "MODEL_PRICES": json.dumps(dict.fromkeys(MODELS, price))}
        with Daemon(home.home, settings_for(server, MODEL_NAME=names, **prices)) as daemon:
            daemon.wait(daemon.submit(**job(1)))
            failed = daemon.submit(**job(3), limits={"iterations": 1})
            daemon.wait(failed)
            snapshot = HomeSnapshot(folder=home.folder, tasks={"failed": failed})
            yield SeededDaemon(snapshot=snapshot, daemon=daemon, server=server)


def dialog_of(page: Page, task: int) -> None:
    page.get_by_role("button", name="Fork…").click()
    expect(page.get_by_role("dialog", name=f"Fork task {task}")).to_be_visible()


def test_the_expected_cost_of_all_is_shown_before_one_confirms(visit: Visit, seeded: SeededDaemon) -> None:
    source = seeded.task("failed")
    page = visit(f"/task/{source}")
    dialog_of(page, source)
    box = page.get_by_role("dialog")
    models = {each["name"]: each for each in seeded.daemon.get(f"/api/task/{source}/fork-models")["models"]}
    tiny = models["openai=tiny-coder"]
    expect(box.locator("label", has_text="tiny-coder")).to_contain_text(f"of {tiny['attempts']} attempts")
    expect(box.locator("label", has_text="big-coder")).to_contain_text("not measured yet")
    box.get_by_role("checkbox", name="openai=tiny-coder").check()
    assert tiny["cost_usd"] > 0
    expect(box.locator(".expected")).to_contain_text(f"Expected cost: about {money(tiny['cost_usd'])}.")
    box.get_by_role("checkbox", name="openai=big-coder").check()
    expect(box.locator(".expected")).to_contain_text(
        f"Expected cost of all 2 forks: more than {money(tiny['cost_usd'])};"
    )
    expect(box.locator(".expected")).to_contain_text("1 model not measured")
    expect(box.locator(".expected")).to_contain_text("The day's budget has $")
    box.get_by_role("button", name="Do not fork").click()
    assert seeded.daemon.get(f"/api/task/{source}/timeline")["forks"] == []


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (NARROW, True)])
def test_forks_by_two_models_stand_side_by_side_and_one_is_integrated(
    visit: Visit, seeded: SeededDaemon, tmp_path: Path, size: tuple[int, int], dark: bool
) -> None:
    source = seeded.task("failed") if size == WIDE else seeded.daemon.submit(**job(44), limits={"iterations": 1})
    seeded.daemon.wait(source, within_s=200)
    page = visit(f"/task/{source}")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme="dark" if dark else "light")
    dialog_of(page, source)
    for name in MODELS:
        page.get_by_role("dialog").get_by_role("checkbox", name=f"openai={name}").check()
    page.screenshot(path=tmp_path / "dialog.png")
    page.get_by_role("dialog").get_by_role("button", name="Fork by 2 models").click()
    expect(page).to_have_url(f"{seeded.url}/task/{source}#forks")
    rows = page.get_by_role("table", name="Task and forks").locator("tbody tr")
    expect(rows).to_have_count(3)
    forks = [each["task_id"] for each in seeded.daemon.get(f"/api/task/{source}/timeline")["forks"]]
    seeded.daemon.wait(*forks, within_s=200)
    winner = rows.filter(has_text="big-coder")
    button = winner.get_by_role("button", name="Integrate…")
    expect(button).to_be_visible()
    expect(winner.get_by_role("button", name="Discard…")).to_be_visible()
    page.screenshot(path=tmp_path / "table.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [each["id"] for each in found if each["impact"] in {"serious", "critical"}] == []
    button.click()
    question = page.get_by_role("dialog")
    expect(question.get_by_role("button", name="Leave it on its branch")).to_be_focused()
    question.get_by_role("button", name="Integrate").click()
    expect(winner).to_contain_text("landed")
    expect(rows.get_by_role("button", name="Integrate…")).to_have_count(0)
    sides = seeded.daemon.get(f"/api/task/{source}/forks")["sides"]
    assert [each["integrated"] for each in sides if each["held"]].count(True) == 1
    page.screenshot(path=tmp_path / "integrated.png", full_page=True)
    page.reload()
    page.wait_for_selector(LIVE, state="attached")
    expect(winner).to_contain_text("landed")
