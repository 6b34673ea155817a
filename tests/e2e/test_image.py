"""The daemon in a container: a real engine builds the image and runs it with the options of `compose.yaml`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import image
from tests.support.daemon import ENDED, ROOT, git, until
from tests.support.image import docker

SERVICE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["nightshift"]
LITTER = dict.fromkeys(
    (".env", "config.yaml", "settings.overrides.yaml", "state/token", "logs/agent.log"), "secret-7f3a"
)
TASK = {
    "description": "Mend is_odd() so that the tests pass",
    "files": {"odd.py": "def is_odd(n):\n    return n % 2 == 0\n"},
    "tests": {
        "test_odd.py": "from odd import is_odd\n\n\ndef test_odd():\n    assert is_odd(3)\n    assert not is_odd(4)\n"
    },
}
USER = os.geteuid() or 1000


@pytest.fixture(scope="module", autouse=True)
def _built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    image.build(tmp_path_factory.mktemp("context"), LITTER)
    yield
    image.remove()


def options(home: Path, security: list[str]) -> list[str]:
    """Return the options of `compose.yaml`, but without a network, because the tests' private engine has none."""
    home.mkdir()
    os.chown(home, USER, -1)
    return [
        "--network=none", f"--volume={home}:/data", f"--user={USER}:{USER}", "--env=API_TOKEN=a-long-token-for-a-test",
        "--env=OLLAMA_BASE_URL=http://127.0.0.1:9", "--init", "--read-only",
        *(f"--tmpfs={path}" for path in SERVICE["tmpfs"]), *(f"--cap-drop={name}" for name in SERVICE["cap_drop"]),
        *(f"--security-opt={word}" for word in security),
    ]  # fmt: skip


@pytest.fixture
def container(tmp_path: Path) -> Iterator[str]:
    container_id = docker("run", "--detach", *options(tmp_path / "home", SERVICE["security_opt"]), image.IMAGE)
    yield container_id
    docker("rm", "--force", container_id)


def ask(container: str, *words: str) -> Any:
    output = docker("exec", container, "nightshift", "--json", *words)
    return json.loads(output)


def answers(container: str, starts: int = 1) -> bool:
    assert docker("inspect", "--format={{.State.Running}}", container) == "true", docker("logs", container)
    return docker("logs", container).count("is up") == starts


def test_a_task_becomes_a_commit_in_the_mounted_home_and_is_known_after_a_stop(tmp_path: Path, container: str) -> None:
    until(lambda: answers(container), 120)
    assert docker("exec", container, "id", "-u") == str(USER)
    assert "bubblewrap" in ask(container, "--status")["sandbox"]
    (tmp_path / "home" / "tasks.yaml").write_text(json.dumps({"tasks": [TASK]}))  # JSON is valid YAML
    until(lambda: any(task["status"] in ENDED for task in ask(container, "--history")), 300)
    (task,) = ask(container, "--history")
    assert task["status"] == "done", docker("logs", container)
    shown = git(tmp_path / "home" / "workspace", "-c", "safe.directory=*", "show", "main:odd.py")
    assert "n % 2 == 0" not in shown
    health = json.loads(docker("inspect", "--format={{json .Config.Healthcheck.Test}}", container))
    docker("exec", container, *health[1:])

    docker("stop", container)
    assert docker("inspect", "--format={{.State.ExitCode}}", container) == "0"
    docker("start", container)
    until(lambda: answers(container, starts=2), 120)
    assert ask(container, "--history") == [task]


def test_nothing_of_the_owners_is_in_the_image() -> None:
    searching = ["grep", "-rl", "secret-7f3a", "/opt", "/data", "/etc", "/usr/local"]
    assert docker("run", "--rm", "--network=none", "--user=0", image.IMAGE, *searching, check=False) == ""
    assert "secret-7f3a" not in docker("history", "--no-trunc", image.IMAGE)
