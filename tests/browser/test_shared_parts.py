"""Parts that all pages share, each drawn separately on a real page.

They are texts, tables, keys, dialogs and the theme.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from nightshift.core.text.masking import printable
from nightshift.server.context import AppContext
from tests.support.app_context import Client, make_desk, serving
from tests.support.browser import Visit, Watch, context_of, open_live

FORMATS = json.loads((Path(__file__).parents[1] / "core" / "text" / "formats.json").read_text())
"""Cases for each formatting function: its arguments and the expected text."""
ROWS = [{"id": 1, "size": 30, "name": "b"}, {"id": 2, "size": None, "name": "c"}, {"id": 3, "size": 4, "name": "a"}]
# Imports by the page's own addresses, because another address would load a second copy of a module.
MODULES = """window.load = (name) => import(
  document.querySelector('link[href$="app/ui.js"]').href.replace(/ui[.]js$/, `${name}.js`))"""


@pytest.fixture(scope="module")
def app_context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppContext]:
    desk = make_desk(tmp_path_factory.mktemp("app_context"))
    yield desk
    desk.database.close()


@pytest.fixture(scope="module")
def server(app_context: AppContext) -> Iterator[Client]:
    with serving(app_context) as client:
        yield client


@pytest.fixture
def url(server: Client) -> str:
    return server.url


@pytest.fixture
def stage(page: Page, watch: Watch) -> Iterator[Page]:
    """Open a page with `load(name)` for a shared module and an empty `#stage` to draw on."""
    open_it(page)
    yield page
    watch.check()


@pytest.fixture(scope="module")
def library(browser: Browser, server: Client) -> Iterator[Page]:
    """Open a page for tests that only call functions and leave nothing behind."""
    with context_of(browser, server.url) as context:
        page = context.new_page()
        open_it(page)
        yield page


def open_it(page: Page) -> None:
    open_live(page, "/tasks")
    page.evaluate(f"() => {{ {MODULES} }}")
    page.evaluate(
        "() => document.getElementById('main').prepend(Object.assign(document.createElement('div'), {id: 'stage'}))"
    )


def draw(page: Page, body: str, *modules: str) -> None:
    """Draw the value that `body` returns.

    `body` is the body of a JavaScript function, in which `m` has the exports of the modules.
    """
    names = ", ".join(f"await load('{name}')" for name in ("ui", "parts", *modules))
    page.evaluate(
        f"""async () => {{
          const all = Object.assign({{}}, {names});
          window.made = new Proxy(all, {{get: (from, name) => from[name]}});
          const {{html, render, signal}} = all;
          const drawn = ((m) => {{ {body} }})(all);
          // Keys are bound by effects, which come after what is painted.
          await new Promise((done) => {{
            const Ready = () => {{ all.useEffect(done, []); }};
            render(html`${{drawn}}<${{Ready}} />`, document.getElementById('stage'));
          }});
        }}"""
    )


def call(page: Page, module: str, name: str, *values: Any) -> Any:
    return page.evaluate(
        "async ([module, name, values]) => (await load(module))[name](...values)", [module, name, list(values)]
    )


# The tests below cover functions that prepare texts for a page.


def test_texts_of_others_are_made_printable_as_the_server_does_it(library: Page) -> None:
    shown = {char for code in range(0x3000) if (char := chr(code)) not in "\r\n" and unicodedata.category(char) != "Cn"}
    shown |= {"\ud7fb", "\ue000", "\ufeff", "\ufffd", "\U0001f600", "\U000e0041", "\U0010fffd"}
    for start in range(0, len(chars := sorted(shown)), 1500):
        text = "".join(chars[start : start + 1500])
        assert call(library, "text", "printable", text) == printable(text)
    assert call(library, "text", "printable", "a\r\nb\tc") == "a\nb\tc"


@pytest.mark.parametrize("name", FORMATS)
def test_values_are_written_as_the_server_does_it(library: Page, name: str) -> None:
    texts = library.evaluate(
        "async ([name, given]) => { const write = (await load('text'))[name]; return given.map((a) => write(...a)); }",
        [name, [given for given, _ in FORMATS[name]]],
    )
    assert texts == [expected for _, expected in FORMATS[name]]


def test_names_in_answers_are_made_visible_as_well(library: Page) -> None:
    assert call(library, "boot", "parse", '{"a\\u202e": ["b\\u001b", 1, null, {"c": "d"}]}') == {
        r"a\u{202e}": [r"b\x1b", 1, None, {"c": "d"}]
    }


# The tests below cover diffs.


def test_each_hunk_says_what_tests_noticed_in_its_lines_and_nothing_where_that_is_not_known(library: Page) -> None:
    hunks = [
        {"old": first, "new": first, "lines": [{"kind": "added", "old": None, "new": first, "parts": "x"}]}
        for first in (1, 20, 40)
    ]
    tried = [(1, "t.py::test_a", "a"), (1, None, "b becomes c"), (20, "", "d")]
    mutants = [
        {"path": "x.py", "line": line, "noticed": by is not None, "what": what, "by": by or ""}
        for line, by, what in tried
    ]
    rows = call(library, "difference", "rowsOf", hunks, mutants)
    assert [row["parts"] for row in rows if row["kind"] == "place"] == [
        "The tests noticed 1 of 2 small faults in these lines (test_a). No test notices when:",
        "b becomes c",
        "line 20",
        "The tests noticed 1 of 1 small fault in these lines",
        "line 40",
    ]


# The tests below cover tables.


def table(page: Page, chosen: str = "null") -> None:
    draw(
        page,
        f"""const columns = [
          {{key: 'id', label: 'Id', number: true}},
          {{key: 'size', label: 'Size', sort: true, number: true}},
          {{key: 'name', label: 'Name', sort: (row) => row.name}}];
        window.chosen = {chosen};
        window.went = [];
        return m.html`<${{m.Table}} label="Things" rows=${{{ROWS!r}}} columns=${{columns}} keyOf=${{(row) => row.id}}
          chosen=${{window.chosen}} onOpen=${{(row) => window.went.push(row.id)}} />`;""".replace("None", "null"),
        "table",
    )


def ids(page: Page) -> list[str]:
    return [row.get_attribute("data-key") or "" for row in page.locator("#stage tbody tr").all()]


def test_a_table_is_sorted_by_its_headings(stage: Page) -> None:
    table(stage)
    assert ids(stage) == ["1", "2", "3"]
    heading = stage.get_by_role("columnheader", name="Size")
    for state, order in [("ascending", ["3", "1", "2"]), ("descending", ["2", "1", "3"]), ("none", ["1", "2", "3"])]:
        heading.get_by_role("button").click()
        expect(heading).to_have_attribute("aria-sort", state)
        assert ids(stage) == order


def test_a_table_is_walked_and_chosen_from_by_keys(stage: Page) -> None:
    table(stage, "m.signal(new Set())")
    here = stage.locator("#stage tr[aria-current=true]")
    for key, at in [("j", "1"), ("j", "2"), ("j", "3"), ("j", "3"), ("k", "2")]:
        stage.keyboard.press(key)
        expect(here).to_have_attribute("data-key", at)
    stage.keyboard.press("x")
    expect(stage.locator("#stage").get_by_label("Choose 2")).to_be_checked()
    stage.keyboard.press("Enter")
    assert stage.evaluate("() => window.went") == [2]
    stage.locator("#stage").get_by_label("Choose all rows").click()
    assert stage.evaluate("() => [...window.chosen.value]") == [1, 2, 3]
    stage.locator("#stage").get_by_label("Choose all rows").click()
    assert stage.evaluate("() => [...window.chosen.value]") == []


# The tests below cover controls such as buttons and dialogs.


def test_a_button_that_works_cannot_be_pressed_twice(stage: Page) -> None:
    draw(
        stage,
        """window.pressed = 0;
        const work = () => { window.pressed += 1; return new Promise((done) => { window.done = done; }); };
        return m.html`<${m.Button} onClick=${work}>Go<//>`;""",
    )
    button = stage.get_by_role("button", name="Go")
    button.click()
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("aria-busy", "true")
    stage.evaluate("() => window.done()")
    expect(button).to_be_enabled()
    assert stage.evaluate("() => window.pressed") == 1


def test_keys_do_nothing_while_somebody_writes(stage: Page) -> None:
    draw(
        stage,
        """window.heard = [];
        m.keys({y: ['say yes', () => window.heard.push('y')], 'g q': ['go', () => window.heard.push('g q')]});
        return m.html`<input aria-label="Text" /><input type="checkbox" aria-label="Box" />`;""",
        "keys",
    )
    stage.get_by_label("Text").press("y")
    stage.get_by_label("Box").press("y")
    stage.keyboard.press("Control+y")
    stage.keyboard.press("g")
    stage.keyboard.press("q")
    stage.keyboard.press("q")
    assert stage.evaluate("() => window.heard") == ["y", "g q"]


# The tests below cover the appearance of a page.


def back(page: Page) -> str:
    return str(page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor"))


def test_the_theme_is_kept_and_other_tabs_follow(stage: Page, context: BrowserContext) -> None:
    other = context.new_page()
    open_it(other)
    light = back(stage)
    switch = stage.get_by_role("button", name=re.compile("^Theme"))
    switch.click()
    assert back(stage) == light
    switch.click()
    expect(stage.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    assert back(stage) == back(other) != light
    stage.reload()
    expect(stage.locator("html")).to_have_attribute("data-theme", "dark")
    stage.get_by_role("button", name=re.compile("^Theme: dark")).click()
    stage.emulate_media(color_scheme="dark")
    assert back(stage) != light, "as the system has it"


# The tests below cover a page's requests to the daemon.


def test_an_old_answer_never_replaces_a_newer_one(stage: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    stage.route("**/api/commits?limit=1", hold)
    stage.evaluate(
        """async () => { window.found = (await load('api')).source('/api/commits', {limit: 1});
          window.found.reload(); window.found.reload(); }"""
    )
    stage.wait_for_function("() => performance.getEntriesByType('resource').length > 0")
    while len(held) < 2:
        stage.wait_for_timeout(20)
    held[1].fulfill(json={"commits": "new"})
    stage.wait_for_function("() => window.found.data?.commits === 'new'")
    held[0].fulfill(json={"commits": "old"})
    stage.wait_for_timeout(200)
    assert stage.evaluate("() => window.found.data.commits") == "new"


def test_a_dialog_that_is_asked_for_again_at_once_stays_open(visit: Visit) -> None:
    page = visit("/dashboard")
    page.get_by_role("button", name="Checkpoint now").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.evaluate(
        """() => new Promise((done) => {
            const [dialog, keep] = [document.querySelector('dialog[open]'), document.activeElement];
            const named = (button) => button.textContent.trim() === 'Checkpoint now';
            const again = [...document.querySelectorAll('button')].find(named);
            const closing = new MutationObserver(() => {
                closing.disconnect();
                again.click();
                setTimeout(done, 500);
            });
            closing.observe(dialog, {attributeFilter: ['open']});
            keep.click();
        })"""
    )
    expect(dialog).to_be_visible(timeout=100)
