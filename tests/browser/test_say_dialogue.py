"""The dialogue in which an owner sends a message to a task: its explanation, its request, and its refusals."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from nightshift.core.dialogue import ModelRequest
from nightshift.core.tasks.states import Phase, Status
from nightshift.server.context import AppContext
from tests.models.test_call import Script
from tests.support.app_context import Client
from tests.support.browser import Watch, draw, open_live
from tests.support.worked_task import claim, submit

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def url(served: Client) -> str:
    return served.url


def open_part(page: Page, number: int, button: str) -> Locator:
    """Open the dialogue by its button on the task's page."""
    open_live(page, f"/task/{number}")
    draw(page)
    page.get_by_role("button", name=button).click()
    return page.get_by_role("dialog", name=f"Say something to task {number}")


def field(dialog: Locator) -> Locator:
    return dialog.get_by_label("What the model should know or do differently")


def texts(context: AppContext, number: int) -> list[tuple[str, bool]]:
    return [(message.text, message.interrupts) for message in context.queue.list_messages(number)]


def test_a_reply_that_is_written_is_interrupted_by_what_is_said(
    page: Page, watch: Watch, app_context: AppContext
) -> None:
    number = submit(app_context, "Write calc.py")
    claim(app_context)
    app_context.live.begin(ModelRequest(phase=Phase.CODING, messages=(), task_id=number), Script([]))
    dialog = open_part(page, number, "Interrupt and say…")
    expect(field(dialog)).to_be_focused()
    send = dialog.get_by_role("button", name="Interrupt and say")
    expect(send).to_be_disabled()
    field(dialog).fill("   ")
    expect(send).to_be_disabled()
    field(dialog).fill(f"Use csv. {HOSTILE}")
    send.click()
    expect(page.get_by_text("Sent. The model restarts its reply with your message.")).to_be_visible()
    expect(dialog).to_have_count(0)
    assert texts(app_context, number) == [(f"Use csv. {HOSTILE}", True)]
    page.get_by_role("tab", name="Prompt").click()
    expect(page.get_by_role("tabpanel")).to_contain_text(f"Use csv. {HOSTILE}")


def test_without_the_tick_the_reply_is_finished_first(page: Page, watch: Watch, app_context: AppContext) -> None:
    number = submit(app_context, "Write calc.py")
    claim(app_context)
    app_context.live.begin(ModelRequest(phase=Phase.CODING, messages=(), task_id=number), Script([]))
    dialog = open_part(page, number, "Interrupt and say…")
    dialog.get_by_label("Interrupt the reply that is being written").uncheck()
    expect(dialog.get_by_role("button", name="Interrupt and say")).to_have_count(0)
    field(dialog).fill("Use csv.")
    field(dialog).press("Control+Enter")
    expect(page.get_by_text("Sent. It is part of the next request to a model.")).to_be_visible()
    assert texts(app_context, number) == [("Use csv.", False)]


def test_a_task_that_ended_meanwhile_says_what_to_do_and_the_words_are_kept(
    page: Page, watch: Watch, app_context: AppContext
) -> None:
    watch.allow("409 POST .*/say")
    number = submit(app_context, "Write calc.py")
    dialog = open_part(page, number, "Say…")
    field(dialog).fill("Use csv.")
    app_context.queue.cancel(number).result()
    assert app_context.queue.get(number).status is Status.CANCELLED
    dialog.get_by_role("button", name="Say", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text(f"retry {number}")
    expect(field(dialog)).to_have_value("Use csv.")
    assert texts(app_context, number) == []
