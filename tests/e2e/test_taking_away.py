"""A repository's own tests judge a removal: code that the tests do not need may go, code that they need stays.

The task requests no new tests.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.daemon import Daemon, git, settings_for
from tests.support.wire_server import WireServer

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices):\n    return sum(prices)\n",
    "shop/legacy.py": "def total(prices):\n    return 0\n",
    "shop/cart.py": "def size(items):\n    return len(items)\n",
    "tests/test_cart.py": "from shop.cart import size\n\n\ndef test_size():\n    assert size([1, 2]) == 2\n",
    "tests/test_prices.py": "from shop.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
}


class Remover:
    """A model that removes the file that a task names; `phases` lists the phases of its requests."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        self.phases.append(phase)
        text = "\n".join(message["content"] for message in messages)
        path = next(path for path in ("shop/legacy.py", "shop/prices.py", "shop/cart.py") if f"Delete {path}" in text)
        gone = [path, "tests/test_cart.py"] if path == "shop/cart.py" else [path]
        return {
            "CLARIFYING": json.dumps({"goal": f"Delete {path}"}),
            "PLANNING": f"1. Delete {path}.",
            "CODING": f"Summary: Delete {path}\n\n"
            + "\n".join(f"```python path={removed_path} delete\n```" for removed_path in gone),
            "REFLECTING": json.dumps({"root_cause": "the tests need it", "suggested_fix": "none"}),
        }[phase]


def begin(repo: Path) -> None:
    for path, text in FILES.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    git(repo, "init", "-q", "-b", "trunk")
    git(repo, "add", ".")
    git(repo, "-c", "user.name=Owner", "-c", "user.email=owner@example.org", "commit", "-qm", "First")


def test_a_removal_is_judged_by_the_tests_that_are_there(tmp_path: Path) -> None:
    repo, model = tmp_path / "shop", Remover()
    begin(repo)
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server)) as daemon:
        (gone,) = daemon.wait(daemon.submit(description="Delete shop/legacy.py", repo=str(repo)))
        assert gone["ending"] == "committed", gone
        assert git(repo, "diff", "--name-status", f"trunk..{gone['commit']}") == "D\tshop/legacy.py"
        verified = daemon.cli("--verify", gone["commit"])
        assert verified.returncode == 0, verified.stdout + verified.stderr
        limits = {"iterations": 2}
        (task,) = daemon.wait(daemon.submit(description="Delete shop/prices.py", repo=str(repo), limits=limits))
        assert (task["status"], task["commit"]) == ("failed", None), task
    assert "TESTING" not in model.phases
