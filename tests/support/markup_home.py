"""A home in which every text that a model or a task can supply tries to act as markup.

The module also has constants for the traces that such texts would leave in a page. The texts are written through the
real stores, and the report is written by the real daemon.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from nightshift.core.clock import utc_now
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.server.context import AppContext
from nightshift.storage.db.state_store import Commit, StateStore
from tests.support.app_context import make_desk
from tests.support.asking import package, wait_for
from tests.support.daemon import Daemon, settings_for
from tests.support.long_home import age
from tests.support.wire_server import WireServer
from tests.support.worked_task import submit, work_on

ELEMENT = "evil"
"""The id of every HTML element that would appear in a page if a hostile text became markup."""
PAYLOADS = (
    f"<img id={ELEMENT} src=http://elsewhere.test:9/x.png onerror=\"alert('image')\">",
    f"</script><script id={ELEMENT}>alert('script')</script>",
    f"</textarea></title></style></pre>--><svg id={ELEMENT} onload=alert('svg')>",
    f"\"' id={ELEMENT} autofocus tabindex=0 onfocus=alert('attribute') x=\"",
    "<a href=\"javascript:alert('link')\">a</a> [b](javascript:alert('markdown')) ![c](http://elsewhere.test:9/c.png)",
    f"<iframe id={ELEMENT} srcdoc=\"<script>parent.alert('frame')</script>\"></iframe>",
    "{{constructor.constructor('alert(1)')()}} ${alert('template')} <%= 7*7 %> __proto__ \\u003cb\\u003e",
    f"<form id={ELEMENT} action=/api/pause method=post><button>x</button></form> <base href=http://elsewhere.test:9/>",
)
EVIL = " ".join(PAYLOADS)
SEEN = "alert('"
"""A part of the hostile texts that is visible on a page if they are correctly shown as text."""
FILE = f"<img src=x id={ELEMENT} onerror=alert(1)>.py"
MODEL = f"m<b id={ELEMENT}>odel"
AUTHOR = f'A "onclick=alert(1) id={ELEMENT}'


@contextmanager
def markup_home(folder: Path) -> Iterator[Daemon]:
    """Run the daemon of such a home, with a report; its model's replies are hostile too."""
    home = folder / f"<b id={ELEMENT}>home"
    (home / "db").mkdir(parents=True)
    context = make_desk(folder)
    try:
        _write(context)
    finally:
        context.database.close()
    (folder / "db.sqlite").rename(home / "db" / "agent_logs.sqlite")
    age(home / "db" / "agent_logs.sqlite", days=1)  # a report leaves out the current minute
    (home / "config.yaml").write_text(json.dumps({"git_author_name": AUTHOR}))
    with (
        WireServer(lambda phase, messages: EVIL, models=[MODEL]) as server,
        Daemon(home, settings_for(server)) as daemon,
    ):
        taught = daemon.cli("--import-memory", "-", stdin="\n".join(map(json.dumps, _lessons())))
        assert taught.returncode == 0, taught.stderr
        response = daemon.ask(
            "POST", "/api/reports", {"week": f"{utc_now() - timedelta(days=1):%G-W%V}"}, timeout_s=120
        )
        assert response[0] == 201, response
        yield daemon


def _answer(_phase: str, _messages: list[dict[str, str]]) -> str:
    return EVIL


def _write(context: AppContext) -> None:
    files = {"test_calc.py": f"# {EVIL}\nfrom calc import add\n", FILE: f"EVIL = {EVIL!r}\n"}
    for passes in (True, False):
        submit(context, f"{EVIL} {passes}", tests=files)
        work_on(context, passes=passes, suffix=EVIL, reply=f"# {EVIL}\n")
    submit(context, f"Ask {EVIL}")
    asked = Ask(kind=AskKind.QUESTION, subject=EVIL, question=EVIL, default=EVIL)
    wait_for(context.queue, package("evil", EVIL), asked)
    StateStore(context.database).record_commit(
        Commit(
            task_id=1, attempt=1, repo=f"/<b id={ELEMENT}>", branch=f"agent/1-{EVIL}", commit="3f2a9c1d" * 5,
            base="0" * 40, subject=EVIL, label=EVIL, model=MODEL,
        )
    ).result()  # fmt: skip
    for level in Level:
        context.events.emit(Event(kind=Kind.MODEL_CALLED, level=level, message=EVIL, task_id=1, data={"model": EVIL}))
    context.queue.pause(EVIL[:500]).result()


def _lessons() -> list[dict[str, str]]:
    at = {"created_at": "2026-01-01T00:00:00Z", "learned_at": "2026-01-02T00:00:00Z", "repo": EVIL[:900]}
    return [
        {"kind": "failure", "signature": EVIL, "error": EVIL, "code": EVIL, "fix": EVIL, "lesson": EVIL[:300], **at},
        {"kind": "pattern", "problem": EVIL, "solution": EVIL, "lesson": EVIL[:300], **at},
    ]
