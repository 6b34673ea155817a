from __future__ import annotations

import asyncio
import copy
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker as docker_py  # type: ignore[import-untyped]  # ships none
import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Mount, SandboxJob, SandboxLimits
from nightshift.sandbox import choose, docker_engine, launcher
from nightshift.sandbox.docker import DockerSandbox
from tests.support import engine
from tests.support.processes import alive, mark, start
from tests.support.sandboxes import docker, runtime

ROOT = Path(__file__).resolve().parents[2]
OWN = "nightshift-own-image"
LIMITS = SandboxLimits(wall_s=10, memory_mb=128, pids=64)


@pytest.fixture
def box() -> DockerSandbox:
    return docker()


@pytest.fixture
def api(box: DockerSandbox) -> Iterator[Any]:
    """A client that talks to the engine directly, without our code."""
    client = docker_py.APIClient(engine.host(), version="auto")
    yield client
    client.close()


def shell(script: str, **more: object) -> SandboxJob:
    return replace(SandboxJob(argv=("/bin/sh", "-c", script), limits=LIMITS), **more)  # type: ignore[arg-type]


def ours(api: Any) -> list[str]:
    label = f"{docker_engine.OWNER}={docker_engine.identity(os.getpid())}"
    return [str(each["Id"]) for each in api.containers(all=True, filters={"label": label})]


async def test_it_is_chosen_by_name(box: DockerSandbox, folder: Path) -> None:
    choice = await choose("docker", runtime=runtime(), scratch=folder, docker_host=engine.host())
    assert choice.sandbox is not None, choice.report
    assert choice.sandbox.name == "docker"
    assert choice.report.startswith(f"docker at {engine.host()}\n")


async def test_without_the_filter_nothing_starts(box: DockerSandbox) -> None:
    own = copy.copy(box)
    own._filter = box._filter[:-8]  # the filter then lacks a return at its end, so the kernel refuses it
    with pytest.raises(SandboxError, match="the system-call filter could not be loaded: Invalid argument"):
        await own.run(shell("echo it ran >&2"))


async def test_nothing_of_the_machine_or_the_engine_is_told(box: DockerSandbox) -> None:
    script = "cat /proc/mounts; ls /sys; cat /etc/resolv.conf; echo name $(cat /etc/hostname); env"
    result = await box.run(shell(script))
    lines = result.stdout.decode().splitlines()
    assert "name sandbox" in lines
    mounts = {words[1]: words[3].split(",") for words in map(str.split, lines[: lines.index("name sandbox")])}
    assert "ro" in mounts["/"]
    assert {"ro", "nosuid", "nodev"} <= set(mounts["/sys"])
    assert all({"nosuid", "nodev"} <= set(mounts[path]) for path in ("/tmp", "/work", "/dev/shm"))
    assert f"size={64 << 10}k" in mounts["/work"]
    names = {line.partition("=")[0] for line in lines[lines.index("name sandbox") + 1 :]}
    assert names <= {"PATH", "HOME", "TMPDIR", "LANG", "PWD", "PYTHONDONTWRITEBYTECODE", "_", "OLDPWD", "SHLVL"}


async def test_the_engine_is_asked_for_every_bound(box: DockerSandbox, api: Any) -> None:
    limits = SandboxLimits(cpus=0.5, memory_mb=100, pids=20)
    begun = await box.begin(shell("cat; cat /proc/self/limits /proc/self/cgroup; id", limits=limits))
    (name,) = await asyncio.to_thread(ours, api)
    host_config = (await asyncio.to_thread(api.inspect_container, name))["HostConfig"]
    result = await begun.finish(b"")
    assert (host_config["NanoCpus"], host_config["PidsLimit"]) == (500_000_000, 20)
    assert host_config["Memory"] == host_config["MemorySwap"] == 100 << 20
    assert (host_config["NetworkMode"], host_config["IpcMode"], host_config["LogConfig"]["Type"]) == (
        "none",
        "private",
        "none",
    )
    assert host_config["Init"] is False
    assert not host_config["Privileged"]
    text = result.stdout.decode()
    for line in ("Max open files", "Max core file size", "Max file size", "Max locked memory", "Max msgqueue size"):
        soft, hard = text.partition(line)[2].split()[:2]
        assert soft == hard != "unlimited", line
    groups = [line.rpartition(":")[2] for line in text.splitlines() if line[:1].isdigit()]
    assert groups
    assert set(groups) == {"/"}, "where the job stands in the machine is not told"
    uid = launcher.job_uid()
    assert f"uid={uid}(agent) gid={uid}(agent) groups={uid}(agent)" in text


async def test_file_systems_below_a_shown_folder_are_not_shown(box: DockerSandbox, folder: Path) -> None:
    if os.geteuid() != 0:
        return  # only root can mount a file system there
    below = folder / "below"
    await asyncio.to_thread(below.mkdir)
    await asyncio.to_thread(subprocess.run, ["mount", "-t", "tmpfs", "-o", "mode=777", "none", str(below)], check=True)
    try:
        argv = ("/bin/sh", "-c", "touch /shown/below/x; ls /shown")
        result = await box.run(SandboxJob(argv=argv, mounts=(Mount(host=folder, inside="/shown"),), limits=LIMITS))
        assert result.stdout == b"below\n"
        assert not list(below.iterdir())
    finally:
        await asyncio.to_thread(subprocess.run, ["umount", str(below)], check=True)


async def test_no_container_is_left_however_a_job_ends(box: DockerSandbox, api: Any) -> None:
    await asyncio.gather(
        box.run(shell("exit 3")),
        box.run(shell("yes")),
        box.run(shell("sleep 60", limits=replace(LIMITS, wall_s=0.3))),
        return_exceptions=True,
    )
    for delay_s in (0.0, 0.05, 0.3):
        running = asyncio.create_task(box.run(shell("yes & sleep 60", limits=replace(LIMITS, output_bytes=1 << 30))))
        await asyncio.sleep(delay_s)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not await asyncio.to_thread(ours, api)


async def test_a_container_that_ended_while_it_waited_is_an_error_and_no_result(box: DockerSandbox, api: Any) -> None:
    begun = await box.begin(shell("cat"))
    (name,) = await asyncio.to_thread(ours, api)
    await asyncio.to_thread(api.kill, name)
    await asyncio.sleep(0.2)
    with pytest.raises(SandboxError, match="ended while it waited"):
        await begun.finish(b"told")
    assert not await asyncio.to_thread(ours, api)


DAEMON = """
import asyncio, sys
from nightshift.core.isolation import SandboxJob
from nightshift.sandbox.docker import DockerSandbox
from nightshift.sandbox.docker_engine import Streams
from nightshift.sandbox.docker_engine import Engine

box = DockerSandbox(Engine(sys.argv[1]), lambda: sys.argv[2], sys.argv[4:])
asyncio.run(box.run(SandboxJob(argv=("/bin/sh", "-c", sys.argv[3]))))
"""


async def test_containers_of_a_dead_daemon_are_removed_and_those_of_a_living_one_are_not(
    box: DockerSandbox, api: Any
) -> None:
    word = mark()
    argv = [sys.executable, "-c", DAEMON, engine.host(), box._image, f"sleep {word}", *runtime().python]
    daemon = await asyncio.create_subprocess_exec(*argv, cwd=ROOT)
    await start(word)
    assert await asyncio.to_thread(box._engine.reap) == 0
    assert alive(word)
    daemon.send_signal(signal.SIGKILL)
    await daemon.wait()
    assert alive(word), "nobody was there to end it"
    other = docker_engine.Engine(engine.host(), home="/another/home")
    assert await asyncio.to_thread(other.reap) == 0
    other.close()
    assert alive(word), "it belongs to another home"
    assert await asyncio.to_thread(box._engine.reap) == 1
    assert not alive(word)


def test_an_image_of_the_owner_s_can_be_built_and_used(box: DockerSandbox, api: Any, folder: Path) -> None:
    """Runs the steps of the Dockerfile on a base image that needs no registry."""
    build_args = {"BASE": box._image, "PYTHON": runtime().python[-1], "JOB_UID": str(launcher.job_uid())}
    with (ROOT / "nightshift" / "sandbox" / "Dockerfile").open("rb") as file:
        lines = list(api.build(fileobj=file, tag=OWN, buildargs=build_args, network_mode="none", decode=True, rm=True))
    assert any("Successfully tagged" in line.get("stream", "") for line in lines), lines
    choice = asyncio.run(
        choose("docker", runtime=runtime(), scratch=folder, docker_host=engine.host(), docker_image=OWN)
    )
    api.remove_image(OWN, force=True)
    assert choice.sandbox is not None, choice.report
    assert "FAILED" not in choice.report


async def test_without_an_engine_the_report_says_what_to_do(folder: Path) -> None:
    async def read_report(host: str) -> str:
        choice = await choose("docker", runtime=runtime(), scratch=folder, docker_host=host)
        assert choice.sandbox is None
        return choice.report

    assert "no engine answers at unix:///nowhere/docker.sock (No such file or directory); install" in await read_report(
        "unix:///nowhere/docker.sock"
    )
    assert "set the socket of an engine on this machine" in await read_report("tcp://10.0.0.1:2375")
