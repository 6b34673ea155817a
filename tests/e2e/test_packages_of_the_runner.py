"""Repositories of packages that the test runner imports itself.

For the repository of `packaging`, the tests run the changed code. The repository of `pluggy` is refused.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.answers import PLAN, REFLECTION
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

PROJECT = """[build-system]
requires = ["flit_core"]
build-backend = "flit_core.buildapi"

[project]
name = "NAME"
version = "1.0"
description = "A package of its own."

[tool.pytest.ini_options]
minversion = "6.0"
testpaths = ["tests"]
"""
VERSION = """class Version:
    def __init__(self, text):
        self.text = text

    def parts(self):
        return self.text.split(".")
"""
STANDING = """from packaging.version import Version


def test_parts():
    assert Version("7.x").parts() == ["7", "x"]
"""
TESTS = """from packaging.version import Version


def test_the_first_part_is_a_number():
    assert Version("12.x").major() == 12


def test_it_is_never_less_than_one():
    assert Version("0.3").major() == 1
"""
# The runner's own `packaging` has no `major` method, so only the change can make these tests pass.
WRONG = VERSION + "\n    def major(self):\n        return int(self.parts()[0])\n"
RIGHT = VERSION + "\n    def major(self):\n        return max(1, int(self.parts()[0]))\n"


class Model:
    """A model that writes version.py, wrong the first time."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def __call__(self, phase: str, _messages: list[dict[str, str]]) -> str:
        self.phases.append(phase)
        if phase == "CODING":
            code = WRONG if self.phases.count("CODING") == 1 else RIGHT
            return f"```python path=src/packaging/version.py\n{code}```"
        return {"PLANNING": PLAN, "REFLECTING": f"```json\n{REFLECTION}\n```"}[phase]


def repository(folder: Path, name: str) -> Path:
    files = {
        "pyproject.toml": PROJECT.replace("NAME", name),
        f"src/{name}/__init__.py": '"""A package of its own."""\n',
        f"src/{name}/version.py": VERSION,
        "tests/test_version.py": STANDING.replace("packaging", name),
    }
    return make_repo(folder / name, files)


def test_the_tests_of_packaging_meet_the_change_and_pluggy_is_refused_before_a_model_is_asked(tmp_path: Path) -> None:
    model, packaging, pluggy = Model(), repository(tmp_path, "packaging"), repository(tmp_path, "pluggy")
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as daemon:
        asked = {
            "description": "Add Version.major() in src/packaging/version.py",
            "tests": {"tests/test_major.py": TESTS},
        }
        (task,) = daemon.wait(daemon.submit(**asked, repo=str(packaging)), within_s=500)
        assert task["ending"] == "committed", (task["reason"], daemon.output()[-3000:])
        assert model.phases.count("CODING") == 2, "the wrong answer was taken, or a right one was refused"
        assert git(packaging, "show", f"{task['commit']}:src/packaging/version.py") == RIGHT.rstrip("\n")
        verified = daemon.cli("--verify", task["commit"], "--repo", str(packaging))
        assert verified.returncode == 0, verified.stdout + verified.stderr

        requests = len(model.phases)
        asked = {"description": "Add Version.major() in src/pluggy/version.py",
                 "tests": {"tests/test_major.py": TESTS.replace("packaging", "pluggy")}}  # fmt: skip
        (task,) = daemon.wait(daemon.submit(**asked, repo=str(pluggy)), within_s=500)
        assert (task["status"], task["ending"]) == ("failed", "refused"), task
        assert "this repository provides `pluggy` (src/pluggy)" in task["reason"]
        assert len(model.phases) == requests, "a model was asked for what cannot be judged"
        assert "refs/heads/nightshift" not in git(pluggy, "for-each-ref")
