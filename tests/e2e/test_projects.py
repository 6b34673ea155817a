"""Projects of the workspace: plans choose or begin a project for each task, and each project works in a fresh clone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.daemon import Daemon, git, settings_for, until
from tests.support.wheelhouse import environ, wheel
from tests.support.wire_server import WireServer

TILL = "def total(prices):\n    return sum(prices)\n"
CHANGE = TILL + "\n\ndef change(paid, prices):\n    return paid - total(prices)\n"
DAYS = """from datetime import date


def days(a, b):
    return abs((date.fromisoformat(b) - date.fromisoformat(a)).days)
"""
MOON = "import moonphase\n\n\ndef moons(nights):\n    return nights * moonphase.FULL\n"

STORY: dict[str, tuple[str, str, str, str]] = {
    "A till that adds up prices": (
        "Project: corner-shop - the till of a corner shop\n1. till.py: total(prices) adds them up.",
        "till.py",
        TILL,
        "from till import total\n\n\ndef test_total():\n    assert total([1, 2, 4]) == 7\n    assert total([]) == 0\n",
    ),
    "Count the days between two dates": (
        "**Project:** almanac (new) - days and moons\n1. days.py: days(a, b) of two ISO dates.",
        "days.py",
        DAYS,
        """from days import days


def test_days():
    assert days('2026-01-01', '2026-01-31') == 30
    assert days('2026-01-03', '2026-01-01') == 2
""",
    ),
    "Customers want their change back": (
        "Project: corner-shop\n1. corner-shop/till.py: change(paid, prices).",
        "till.py",
        CHANGE,
        """from till import change


def test_change():
    assert change(9, [2, 3]) == 4
    assert change(5, []) == 5
""",
    ),
    "Say how many moons there are": (
        "Project: almanac\n1. moons.py: moons(nights), with moonphase.",
        "moons.py",
        MOON,
        "from moons import moons\n\n\ndef test_moons():\n    assert moons(3) == 3\n    assert moons(5) == 5\n",
    ),
}


class Model:
    """A model that plans, writes and tests as `STORY` says; `seen` has each prompt by task and phase."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], str] = {}

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        text = "\n".join(message["content"] for message in messages)
        words = next(words for words in STORY if words in text)
        self.seen[words, phase] = text
        plan, path, code, tests = STORY[words]
        own = f"tests/test_{path.removesuffix('.py')}_{list(STORY).index(words)}.py"
        return {
            "CLARIFYING": json.dumps({"goal": words}),
            "PLANNING": plan,
            "CODING": f"```python path={path}\n{code}```",
            "TESTING": f"```python path={own}\n{tests}```",
        }[phase]


def bare_pytest(folder: Path, libraries: Path) -> str:
    """Run pytest in a folder with only pytest and the packages in its requirements.txt, and return the output."""
    names = (folder / "requirements.txt").read_text().split()
    wanted = [name for name in names if name != "pytest"]
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--find-links", str(libraries.parent / "index")]
    if wanted:
        subprocess.run([*pip, "--target", str(libraries), *wanted], check=True, capture_output=True)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("pytest")), "-q", "-p", "no:cacheprovider"],
        cwd=folder, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(libraries)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_projects_are_begun_gone_on_with_by_meaning_and_stand_alone_in_a_clone(tmp_path: Path) -> None:
    index, model = tmp_path / "index", Model()
    index.mkdir()
    wheel(index, "moonphase", "1.0", {"moonphase.py": "FULL = 1\n"})
    pip = {name: value for name, value in environ(index).items() if name.startswith("PIP_")}
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, **pip)) as daemon:
        till, days, change, moons = STORY
        begun = daemon.wait(daemon.submit(description=till), daemon.submit(description=days))
        assert [task["ending"] for task in begun] == ["committed"] * 2, begun
        assert "There is none yet." in model.seen[till, "PLANNING"]
        waiting = daemon.submit(description=moons)
        until(lambda: bool(daemon.get(f"/api/task/{waiting}")["status"] == "waiting"), within_s=120)
        (later,) = daemon.wait(daemon.submit(description=change))
        assert later["ending"] == "committed", later
        assert daemon.cli("--approve", "1").returncode == 0
        (moon,) = daemon.wait(waiting)
        assert moon["ending"] == "committed", moon
        assert [task["project"] for task in (*begun, moon)] == ["corner-shop", "almanac", "almanac"]
        shown = daemon.cli("--show", str(moon["task_id"])).stdout
        assert [line.split() for line in shown.splitlines() if line.startswith("project")] == [["project", "almanac"]]
        prompt = model.seen[change, "PLANNING"]
        assert "corner-shop: the till of a corner shop" in prompt
        assert "almanac: days and moons" in prompt
        assert TILL in model.seen[change, "CODING"]
        assert "1. till.py: change(paid, prices)." in model.seen[change, "CODING"]
        for task in (later, moon):
            verified = daemon.cli("--verify", task["commit"])
            assert verified.returncode == 0, verified.stdout + verified.stderr
        diff = daemon.get(f"/api/task/{moon['task_id']}/diff")
        assert {file["path"] for file in diff["files"]} >= {"almanac/moons.py", "almanac/requirements.txt"}
        taken = daemon.cli("--revert", str(later["task_id"]))
        assert taken.returncode == 0, taken.stdout + taken.stderr
        again = daemon.cli("--reapply", str(later["task_id"]))
        assert again.returncode == 0, again.stdout + again.stderr
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(tmp_path / "home" / "workspace"), str(clone))
    assert sorted(path.name for path in clone.iterdir() if path.name[0] != ".") == ["almanac", "corner-shop"]
    assert (clone / "almanac" / "requirements.txt").read_text() == "pytest\nmoonphase==1.0\n"
    assert (clone / "corner-shop" / "README.md").read_text().startswith("# corner-shop\n\nthe till of a corner shop\n")
    assert "2 passed" in bare_pytest(clone / "almanac", tmp_path / "libraries")
    assert (clone / "corner-shop" / "requirements.txt").read_text() == "pytest\n"
    assert "2 passed" in bare_pytest(clone / "corner-shop", tmp_path / "others")
