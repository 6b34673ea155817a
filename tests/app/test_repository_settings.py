"""The settings of a repository are found, stored, removed or refused, with real git and a real database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightshift.app.repository_settings import RepositoryService, open_service
from nightshift.config.load import Settings, load_settings
from nightshift.core.code.repository_commands import Linter
from nightshift.core.errors import InvalidTask
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.repository_settings import Option, RepositoryOptions, RepositorySettings, Source
from nightshift.core.tasks.revisions import Author
from nightshift.core.tasks.task import Limits, TaskSpec
from nightshift.git.manager import GitManager
from nightshift.storage.db import repositories
from nightshift.storage.db.database import Database
from tests.support.git_repo import make_repo
from tests.support.ready_database import ready

FILES = {"pyproject.toml": "[tool.ruff]\n\n[tool.pytest.ini_options]\ntestpaths = ['tests']\n", "shop.py": "",
         "Makefile": "test:\n\tpytest\n"}  # fmt: skip


class Bench:
    """A service over a home, and its events."""

    def __init__(self, home: Path) -> None:
        self.settings: Settings = load_settings(home=home)
        self.database = Database(ready(home / "db.sqlite"))
        self.events: list[Event] = []
        self.git = GitManager(
            workspace=self.settings.workspace, author=Author(name="N", email="n@example.org"), auto_push=False,
            emit=self.events.append, environ={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        self.service = RepositoryService(lambda: self.settings, self.database, self.git, self.events.append)

    def read_settings(self, repo: Path) -> RepositorySettings:
        return self.service.settings_for(TaskSpec(description="x", repo=str(repo)))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "home").mkdir()
    new_bench = Bench(tmp_path / "home")
    yield new_bench
    new_bench.git.close()
    new_bench.database.close()


def option(shown: RepositoryOptions, name: str) -> Option:
    return next(each for each in shown.options if each.name == name)


def values(shown: RepositoryOptions) -> dict[str, Any]:
    return {each.name: each.value for each in shown.options}


def test_what_is_found_is_shown_with_its_place_and_what_is_not_with_the_settings(bench: Bench, tmp_path: Path) -> None:
    shown = bench.service.show(str(make_repo(tmp_path / "shop", FILES)))
    assert (shown.repo, shown.error) == (str(tmp_path / "shop"), "")
    paths = option(shown, "test_paths")
    assert (paths.value, paths.source, paths.place) == (["tests"], Source.FOUND, "pyproject.toml:4")
    assert option(shown, "linters").value == ["ruff"]
    wall = option(shown, "wall_s")
    assert (wall.value, wall.source) == (bench.settings.task_timeout, Source.SETTINGS)
    assert option(shown, "base").value == "main"


def test_a_found_command_judges_only_where_our_own_runs_find_no_tests(bench: Bench, tmp_path: Path) -> None:
    python = option(bench.service.show(str(make_repo(tmp_path / "python", FILES))), "test_command")
    assert (python.value, python.source, python.found) == (None, Source.NONE, ["make", "test"])
    other = {"Makefile": "test:\n\tctest\n", "CMakeLists.txt": "", "tools/gen.py": "x = 1\n"}
    foreign = option(bench.service.show(str(make_repo(tmp_path / "foreign", other))), "test_command")
    assert (foreign.value, foreign.source, foreign.place) == (["make", "test"], Source.FOUND, "Makefile:1")


def test_what_is_set_holds_for_tasks_in_the_repository_and_below_until_it_is_taken_back(
    bench: Bench, tmp_path: Path
) -> None:
    shop, other = make_repo(tmp_path / "shop", FILES), make_repo(tmp_path / "other", FILES)
    (shop / "sub").mkdir()
    shown = bench.service.change(str(shop / "sub"), {"wall_s": 60.0, "linters": ["mypy"], "allow": ["ruff.E501"]})
    assert shown.repo == str(shop)
    assert option(shown, "wall_s").source is Source.KEPT
    wanted = RepositorySettings(limits=Limits(wall_s=60), linters=(Linter.MYPY,), allow=("ruff.E501",))
    assert bench.read_settings(shop) == bench.read_settings(shop / "sub") == wanted
    assert bench.read_settings(other) == RepositorySettings()
    assert [event.kind for event in bench.events] == [Kind.SETTINGS_RELOADED]
    bench.service.change(str(shop), {"wall_s": None, "allow": None})
    assert bench.read_settings(shop) == RepositorySettings(linters=(Linter.MYPY,))
    bench.service.change(str(shop), {"linters": None})
    assert repositories.with_settings(bench.database.reader()) == []


@pytest.mark.parametrize(("changes", "field"), [
    ({"target": "nowhere"}, "target"), ({"allow": ["python.subproces"]}, "allow.0"),
    ({"colour": 1}, "colour"),
])  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_of_it_is_kept(
    bench: Bench, tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    shop = make_repo(tmp_path / "shop", FILES)
    with pytest.raises(InvalidTask) as refused:
        bench.service.change(str(shop), {"review": True, **changes})
    assert field in refused.value.fields
    assert bench.read_settings(shop) == RepositorySettings()


def test_values_of_another_version_are_told_and_do_not_stand_in_the_way(bench: Bench, tmp_path: Path) -> None:
    shop = make_repo(tmp_path / "shop", FILES)
    odd = {"review": True, "of_a_later_version": 1}
    bench.database.write(lambda conn: repositories.keep_settings(conn, str(shop), odd, bench.service._clock())).result()
    assert bench.read_settings(shop) == RepositorySettings(review=True)
    assert set(bench.service.show(str(shop)).faults) == {"of_a_later_version"}
    bench.service.change(str(shop), {"audit": True})
    assert bench.read_settings(shop) == RepositorySettings(review=True, audit=True)


def test_the_command_line_opens_it_beside_a_daemon_and_makes_nothing_to_look(bench: Bench, tmp_path: Path) -> None:
    shop = make_repo(tmp_path / "shop", FILES)
    with open_service(bench.settings, to_change=False) as service:
        assert values(service.show(str(shop)))["linters"] == ["ruff"]
    assert not bench.settings.db_path.exists()
    with open_service(bench.settings, to_change=True) as service:
        service.change(str(shop), {"review": True})
    with open_service(bench.settings, to_change=False) as service:
        assert values(service.show(str(shop)))["review"] is True
    assert not bench.settings.workspace.exists()
