"""A task's code that tries to change the settings through the API: it must succeed bare, and then fail inside."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from nightshift.config.load import Settings
from nightshift.core.isolation import SandboxJob, SandboxLimits
from nightshift.server.serving.listen import Listen
from tests.support.sandboxes import open_folder, open_it, runtime
from tests.support.settings_rig import settings_served

CONFIG = "worker_count: 2\n"
PROGRAM = """
import json, sys, urllib.request
port = json.load(sys.stdin)['port']
print('alive', flush=True)
for host in ('127.0.0.1', 'localhost', '0.0.0.0', '[::1]', '172.17.0.1', '10.0.2.2', 'host.docker.internal'):
    body = json.dumps({'changes': {'worker_count': 64}}).encode()
    headers = {'Content-Type': 'application/json', 'Host': f'127.0.0.1:{port}', 'Origin': f'http://127.0.0.1:{port}',
               'Sec-Fetch-Site': 'same-origin', 'Authorization': 'Bearer guess'}
    try:
        request = urllib.request.Request(f'http://{host}:{port}/api/settings', body, headers, method='PUT')
        print(urllib.request.urlopen(request, timeout=2).status)
    except OSError as error:
        print(host, error)
"""


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def command() -> tuple[str, ...]:
    return (*runtime().python, "-I", "-S", "-B", "-c", PROGRAM)


def bare(port: int) -> str:
    payload = json.dumps({"port": port}).encode()
    return subprocess.run(command(), input=payload, capture_output=True, check=False, timeout=60).stdout.decode()


async def inside(name: str, port: int) -> str:
    with open_folder() as folder:
        async with open_it(name, folder) as sandbox:
            limits = SandboxLimits(wall_s=30)
            payload = json.dumps({"port": port}).encode()
            job = SandboxJob(argv=command(), mounts=tuple(runtime().mounts), stdin=payload, limits=limits)
            return (await sandbox.run(job)).stdout.decode()


@pytest.mark.parametrize("name", ["bubblewrap", "nested"])
async def test_the_settings_are_not_changed_from_inside_of_a_sandbox(name: str, tmp_path: Path) -> None:
    with settings_served(tmp_path / "home", CONFIG) as rig:
        port = rig.client.host.port
        output = await inside(name, port)
        assert (output.startswith("alive"), "\n200" in output, rig.page) == (True, False, None)
        assert "\n200" in await asyncio.to_thread(bare, port), "the program cannot do what it is to be kept from"
        assert rig.page == {"worker_count": 64}


async def test_where_nothing_is_isolated_the_token_stands_in_the_way(tmp_path: Path) -> None:
    with settings_served(tmp_path / "home", CONFIG, Listen(port=0, token="long-and-random", exposed=True)) as rig:
        output = await inside("process", rig.client.host.port)
        assert ("401" in output, "\n200" in output, rig.page) == (True, False, None)
