from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import SandboxError
from core.isolation import Ended, Mount, SandboxJob, SandboxLimits
from sandbox.bubblewrap import BubblewrapSandbox
from tests.support.sandboxes import bubblewrap, hierarchy, runtime

SHELL = ("/bin/sh", "-c")


@pytest.fixture
def box() -> BubblewrapSandbox:
    return bubblewrap()


def shell(script: str, **more: object) -> SandboxJob:
    return replace(SandboxJob(argv=(*SHELL, script)), **more)  # type: ignore[arg-type]


def staged(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


async def test_a_command_runs_in_a_private_copy(box: BubblewrapSandbox, folder: Path) -> None:
    first = staged(folder / "first", {"name.txt": "first", "kept.txt": "kept"})
    second = staged(folder / "second", {"name.txt": "second"})
    job = shell("cat name.txt kept.txt - /shown/kept.txt; echo changed > kept.txt; id -u; pwd", stdin=b"told")
    result = await box.run(replace(job, copy_in=(first, second), mounts=(Mount(host=first, inside="/shown"),)))
    assert result.stdout == b"secondkepttoldkept1000\n/work\n"
    assert (result.exit_code, result.ended, result.stderr) == (0, Ended.EXITED, b"")
    assert await asyncio.to_thread((first / "kept.txt").read_text) == "kept"


async def test_streams_and_exit_codes_come_back_apart(box: BubblewrapSandbox) -> None:
    failed, killed = await asyncio.gather(
        box.run(shell("echo out; echo err >&2; exit 3")), box.run(shell("sh -c 'kill -SEGV $$'; exit $?"))
    )
    assert (failed.exit_code, failed.stdout, failed.stderr) == (3, b"out\n", b"err\n")
    assert killed.exit_code == -11


async def test_each_limit_ends_the_job_and_says_which(box: BubblewrapSandbox) -> None:
    short = SandboxLimits(wall_s=0.3, memory_mb=64, output_bytes=1000)
    fill = "import sys; x = bytearray(200 << 20)"
    late, flood, memory = await asyncio.gather(
        box.run(shell("sleep 60", limits=short)),
        box.run(shell("yes", limits=replace(short, wall_s=10))),
        box.run(SandboxJob(argv=("/usr/bin/python3", "-c", fill), limits=replace(short, wall_s=10))),
    )
    assert (late.ended, flood.ended, memory.ended) == (Ended.TIMEOUT, Ended.OUTPUT_LIMIT, Ended.OUT_OF_MEMORY)
    assert late.duration_s < 2
    assert len(flood.stdout) == 1000


async def test_a_full_work_folder_is_an_error_of_the_job_alone(box: BubblewrapSandbox) -> None:
    result = await box.run(shell("dd if=/dev/zero of=a bs=1M count=50; dd if=/dev/zero of=b bs=1M count=50"))
    assert b"No space left" in result.stderr


async def test_what_cannot_be_set_up_is_an_error_and_nothing_runs(box: BubblewrapSandbox, folder: Path) -> None:
    with pytest.raises(SandboxError, match="No such file"):
        await box.run(shell("true", copy_in=(folder / "missing",)))
    big = staged(folder / "big", {"file": "x" * (3 << 20)})
    with pytest.raises(SandboxError, match=r"No space left|File size limit"):
        await box.run(shell("true", copy_in=(big,), limits=SandboxLimits(work_mb=1)))


async def test_cancelling_kills_at_once_and_leaves_nothing(box: BubblewrapSandbox) -> None:
    mark = f"4{secrets.randbelow(10**6):06}"
    running = asyncio.create_task(box.run(shell(f"sleep {mark}")))
    await started_as(mark)
    started = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - started < 2
    assert not alive(mark)


async def test_no_process_outlives_its_job(box: BubblewrapSandbox) -> None:
    mark = f"5{secrets.randbelow(10**6):06}"
    result = await box.run(shell(f"setsid sleep {mark} >/dev/null 2>&1 </dev/null & setsid sleep {mark} & exit 0"))
    assert result.ended is Ended.EXITED
    assert result.duration_s < 5, "the end of a pipe that a grandchild holds is not waited for"
    assert not alive(mark)


async def test_only_the_three_streams_are_open_and_rights_are_gone(box: BubblewrapSandbox) -> None:
    code = (
        "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1], os.getpid()); "
        "print(open('/proc/self/status').read()); print(open('/proc/mounts').read())"
    )
    result = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code)))
    first, _, rest = result.stdout.decode().partition("\n")
    assert first == "['0', '1', '2'] 1", "the command is process 1, which nothing inside can kill"
    facts = dict(line.split(":\t", 1) for line in rest.splitlines() if ":\t" in line)
    assert {facts[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    mounts = [line.split() for line in rest.splitlines() if line.endswith(" 0 0")]
    writable = {path for _, path, _, mode, *_ in mounts if mode.startswith("rw") and not path.startswith("/dev/")}
    assert writable == {"/tmp", "/work"}


async def test_the_launcher_itself_has_an_empty_environment(box: BubblewrapSandbox) -> None:
    mark = f"7{secrets.randbelow(10**6):06}"
    running = asyncio.create_task(box.run(shell(f"sleep {mark}")))
    await started_as(mark)
    seen = await asyncio.to_thread(environments_of, mark)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen
    assert all(names <= {"PATH", "PWD"} | INSIDE for names in seen)


INSIDE = {"HOME", "TMPDIR", "LANG", "PYTHONDONTWRITEBYTECODE", "_", "OLDPWD", "SHLVL"}


def environments_of(word: str) -> list[set[str]]:
    """The names of the variables of every process that has this word in its command line and can be looked at."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (path / "cmdline").read_bytes():
                entries = (path / "environ").read_bytes().split(b"\0")
                found.append({entry.partition(b"=")[0].decode() for entry in entries if entry})
        except OSError:
            continue
    return found


async def started_as(word: str) -> None:
    for _ in range(500):
        if alive(word):
            return
        await asyncio.sleep(0.01)


def alive(word: str) -> bool:
    """Tell whether a process with this word in its command line is running."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


ESCAPES = {
    "reads_a_file_of_the_host": "open(t['secret']).read() == t['nonce']",
    "writes_a_file_of_the_host": "open(t['canary'], 'a').write('touched')",
    "reads_secrets_in_environments": "any(t['nonce'].encode() in content(f'/proc/{p}/environ') for p in pids())",
    "sees_the_processes_of_the_host": "any(t['nonce'].encode() in content(f'/proc/{p}/cmdline') for p in pids())",
    "connects_to_the_host": "socket.create_connection(('127.0.0.1', t['port']), 1)",
    "opens_kernel_settings_for_writing": "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
    "makes_other_sockets": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "mounts": "libc.mount(b'x', (d := t['folder'].encode()), b'tmpfs', 0, None) == 0 and not libc.umount(d)",
    "traces_a_child": "libc.ptrace(0, 0, 0, 0) == 0",
    "makes_a_user_namespace": "libc.unshare(0x10000000) == 0",
    "starts_many_processes": "len([fork() for _ in range(200)]) == 200",
    "uses_much_memory": "len(bytearray(300 << 20))",
}  # fmt: skip
PAYLOAD = """
import ctypes, json, os, socket, sys, time
t = json.load(sys.stdin)
libc = ctypes.CDLL(None)
kids = []
def pids():
    return [p for p in os.listdir('/proc') if p.isdigit()]
def content(path):
    try:
        return open(path, 'rb').read()
    except OSError:
        return b''
def fork():
    pid = os.fork()
    if pid == 0:
        time.sleep(30)
        os._exit(0)
    kids.append(pid)
print('started', flush=True)
try:
    if %s:
        print('ESCAPED', flush=True)
except (OSError, MemoryError) as error:
    print(type(error).__name__)
for kid in kids:
    os.kill(kid, 9)
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[dict[str, object]]:
    """Things on the host that a job must not reach."""
    nonce = secrets.token_hex(16)
    (tmp_path / "secret").write_text(nonce)
    (tmp_path / "canary").write_text("whole")
    (tmp_path / "folder").mkdir()
    bait = subprocess.Popen(["sleep", "60"], env={"SECRET_KEY": nonce})
    named = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", nonce], env={})
    with socket.create_server(("127.0.0.1", 0)) as server:
        places = {name: str(tmp_path / name) for name in ("secret", "canary", "folder")}
        yield {"nonce": nonce, "port": server.getsockname()[1], **places}
    for process in (bait, named):
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", ESCAPES)
async def test_an_escape_that_works_outside_fails_inside(
    name: str, box: BubblewrapSandbox, host: dict[str, object]
) -> None:
    code, told = PAYLOAD % ESCAPES[name], json.dumps(host).encode()
    argv = [sys.executable, "-c", code]
    bare = await asyncio.to_thread(subprocess.run, argv, input=told, capture_output=True, timeout=30, check=False)
    if os.geteuid() == 0 or name not in {"opens_kernel_settings_for_writing", "mounts"}:
        assert b"ESCAPED" in bare.stdout, bare.stderr
    canary = Path(str(host["canary"]))
    await asyncio.to_thread(canary.write_text, "whole")
    limits = SandboxLimits(wall_s=10, memory_mb=128, pids=64)
    inside = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code), stdin=told, limits=limits))
    assert b"started" in inside.stdout, inside.stderr
    assert b"ESCAPED" not in inside.stdout
    assert await asyncio.to_thread(canary.read_text) == "whole"


COMPATIBLE = """
import asyncio, http.server, multiprocessing, os, pathlib, socket, sqlite3, subprocess, sys, tempfile, threading
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import shared_memory

def main():
    pathlib.Path('out.txt').write_text('x')
    with tempfile.NamedTemporaryFile() as file:
        file.write(b'x')
    assert subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout == b'1\\n'
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(abs, [-1, -2])) == [1, 2]
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=queue.put, args=(1,))
    process.start()
    assert queue.get() == 1
    process.join()
    assert asyncio.run(asyncio.sleep(0, 5)) == 5
    sqlite3.connect('data.db').execute('create table t(x)')
    server = http.server.HTTPServer(('localhost', 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f'http://localhost:{server.server_port}/').status == 200
    server.shutdown()
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.close()
    memory.unlink()
    assert os.getlogin if False else os.path.expanduser('~') == '/tmp'
    print('fine')

main()
"""


async def test_ordinary_programs_work_inside(box: BubblewrapSandbox) -> None:
    result = await box.run(SandboxJob(argv=(*runtime().python, "-c", COMPATIBLE), mounts=runtime().mounts))
    assert result.stdout == b"fine\n", result.stderr


async def test_without_control_groups_each_process_is_bounded() -> None:
    box = BubblewrapSandbox(None)
    limits = SandboxLimits(memory_mb=128, pids=30)
    code = "import os\ntry:\n    x = bytearray(300 << 20)\nexcept MemoryError:\n    print('refused')"
    forks = "for i in $(seq 99); do sleep 1 & done 2>/dev/null; echo done"
    memory, processes = await asyncio.gather(
        box.run(SandboxJob(argv=("/usr/bin/python3", "-c", code), limits=limits)), box.run(shell(forks, limits=limits))
    )
    assert memory.stdout == b"refused\n"
    assert processes.stdout != b"done\n", "the shell gives up when it cannot fork"


async def test_groups_are_gone_after_their_jobs(box: BubblewrapSandbox) -> None:
    found = hierarchy()
    assert found is not None or os.geteuid() != 0, "root has control groups"
    if found is not None:
        group = found.create(SandboxLimits())
        parent = group.folders[0].parent
        group.remove()
        await box.run(shell("true"))
        assert not list(parent.glob(f"{os.getpid()}-*"))
