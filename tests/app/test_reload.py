"""Settings are reloaded completely or not at all, and the changes are reported without any secret."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nightshift.app.reload import LiveSettings
from nightshift.config.load import Settings, load_settings, settings_at
from nightshift.core.errors import ConfigError
from nightshift.core.events import Event, Kind, Level


class Bench:
    """Live settings over a real file, with hooks that record their arguments."""

    def __init__(self, home: Path) -> None:
        self.home, self.events, self.put = home, list[Event](), list[int]()
        self.write("worker_count: 2\n")
        self.live = LiveSettings(load_settings(home=home), partial(settings_at, load_settings(home=home)))
        self.live.serve([self._take, self._other], self.events.append)

    def write(self, text: str) -> None:
        (self.home / "config.yaml").write_text(text)

    def _take(self, settings: Settings) -> Callable[[], None]:
        if settings.model_type == "unheard-of":
            raise ConfigError(["model_type: there is no unheard-of"])
        return lambda: self.put.append(settings.worker_count)

    def _other(self, settings: Settings) -> Callable[[], None]:
        if settings.blocked_commands == ["never"]:
            raise ConfigError(["blocked_commands: never is no pattern"])
        return lambda: self.put.append(-settings.worker_count)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    return Bench(tmp_path)


async def test_what_was_changed_holds_at_once_and_is_told_by_name(bench: Bench) -> None:
    bench.write("worker_count: 5\nopenai_api_key: sk-very-secret-key-0123456789\n")
    done = await bench.live.reload()
    assert done.changed == ("openai_api_key", "worker_count")
    assert bench.live.now.worker_count == 5
    assert bench.put == [5, -5]
    (event,) = bench.events
    assert (event.kind, event.data["changed"]) == (Kind.SETTINGS_RELOADED, ["openai_api_key", "worker_count"])
    assert "very-secret" not in str(event)
    assert bench.live.notices == ()


@pytest.mark.parametrize("text", ["worker_count: many\n", "worker_count: 5\nmodel_type: unheard-of\n"])
async def test_any_fault_leaves_everything_as_it_was_until_it_is_mended(bench: Bench, text: str) -> None:
    bench.write(text)
    with pytest.raises(ConfigError):
        await bench.live.reload()
    assert bench.live.now.worker_count == 2
    assert bench.put == [], "no part took up anything"
    assert [(event.kind, event.level) for event in bench.events] == [(Kind.SETTINGS_REFUSED, Level.ERROR)]
    assert "the old ones stay in use" in bench.live.notices[0]
    bench.write("worker_count: 2\n")
    assert (await bench.live.reload()).changed == ()
    assert bench.live.notices == ()


async def test_what_needs_a_restart_keeps_its_value_and_says_so_until_it_is_changed_back(bench: Bench) -> None:
    bench.write("worker_count: 3\nflask_port: 81\napi_token: a-token-nobody-may-see\n")
    done = await bench.live.reload()
    assert done.changed == ("worker_count",)
    assert [(each.name, each.holds) for each in done.later] == [("flask_port", "5000"), ("api_token", "unset")]
    assert (bench.live.now.flask_port, bench.live.now.api_token) == (5000, None)
    assert "flask_port (still 5000)" in bench.live.notices[0]
    again = await bench.live.reload()
    assert again.later == done.later, "it still waits"
    bench.write("worker_count: 3\n")
    assert (await bench.live.reload()).later == ()
    assert bench.live.notices == ()


async def test_it_is_told_what_the_settings_page_overrules(bench: Bench) -> None:
    (bench.home / "settings.overrides.yaml").write_text("worker_count: 6\nlog_keep: 9\n")
    assert (await bench.live.reload()).overruled == ("worker_count",)
    assert bench.live.now.worker_count == 6
    assert "worker_count: what the settings page has set overrules config.yaml" in bench.events[-1].message
    bench.write("log_days: 4\n")
    assert (await bench.live.reload()).overruled == ()
    (bench.home / "settings.overrides.yaml").write_text("worker_count: [\n")
    with pytest.raises(ConfigError, match=r"settings\.overrides\.yaml: cannot be read"):
        await bench.live.reload()
    assert bench.live.now.worker_count == 6


async def test_a_fault_shows_no_secret_that_is_known(tmp_path: Path, bench: Bench) -> None:
    bench.write("notify_secret: hush-hush-hush\n")
    events = list[Event]()
    live = LiveSettings(load_settings(home=tmp_path), partial(settings_at, load_settings(home=tmp_path)))
    live.serve([], events.append)
    bench.write("notify_secret: hush-hush-hush\nhush-hush-hush: 1\n")
    with pytest.raises(ConfigError):
        await live.reload()
    assert "hush-hush" not in str(events) + str(live.notices)
