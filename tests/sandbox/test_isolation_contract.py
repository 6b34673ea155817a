"""The contract that every isolation keeps. Tests of a single isolation are in separate files."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import Ended, Layer, Mount, RunLimits, SandboxJob, SandboxLimits
from nightshift.core.ports import Sandbox
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.isolation import Isolation
from nightshift.sandbox.trees import lay_out
from nightshift.verdict.runner import SuiteRunner
from tests.support.processes import alive, mark, start
from tests.support.sandboxes import ISOLATIONS, open_it, runtime
from tests.support.trees import TextTree

STRONG = ("bubblewrap", "nested", "docker")
LIMITS = SandboxLimits(wall_s=10, memory_mb=128, pids=64)


@pytest.fixture(params=ISOLATIONS)
async def box(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Sandbox]:
    async with open_it(request.param, folder) as sandbox:
        yield sandbox


@pytest.fixture(params=STRONG)
async def strong(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Isolation]:
    async with open_it(request.param, folder) as sandbox:
        yield cast(Isolation, sandbox)


def shell(script: str, **more: object) -> SandboxJob:
    return replace(SandboxJob(argv=("/bin/sh", "-c", script), limits=LIMITS), **more)  # type: ignore[arg-type]


def python(code: str, **more: object) -> SandboxJob:
    job = SandboxJob(argv=(*runtime().python, "-c", code), mounts=runtime().mounts, limits=LIMITS)
    return replace(job, **more)  # type: ignore[arg-type]


def stage(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def layer(folder: Path, files: dict[str, str], size_mb: int = 0) -> Layer:
    folder.mkdir()
    lay_out(TextTree(files), folder)
    return Layer(host=folder, size_mb=size_mb)


async def test_a_command_runs_in_a_private_copy(box: Sandbox, folder: Path) -> None:
    first = stage(folder / "first", {"name.txt": "first", "kept.txt": "kept"})
    second = stage(folder / "second", {"name.txt": "second"})
    script = "cat name.txt kept.txt - $0/kept.txt; echo changed > kept.txt; id -u"
    argv = ("/bin/sh", "-c", script, "/shown")
    mounts = (Mount(host=first, inside="/shown"),)
    result = await box.run(
        SandboxJob(argv=argv, layers=(Layer(host=first), Layer(host=second)), mounts=mounts, stdin=b"told")
    )
    assert result.stdout.startswith(b"secondkepttoldkept"), result.stderr
    assert int(result.stdout.removeprefix(b"secondkepttoldkept")) != 0, "a job is not root"
    assert (result.exit_code, result.ended, result.stderr) == (0, Ended.EXITED, b"")
    assert await asyncio.to_thread((first / "kept.txt").read_text) == "kept"


async def test_a_shown_folder_cannot_be_changed(box: Sandbox, folder: Path) -> None:
    shown = stage(folder / "shown", {"kept.txt": "kept"})
    argv = ("/bin/sh", "-c", "echo x > $0/kept.txt; echo x > $0/new.txt; rm -f $0/kept.txt; true", "/shown")
    await box.run(SandboxJob(argv=argv, mounts=(Mount(host=shown, inside="/shown"),)))
    assert await asyncio.to_thread(lambda: {path.name: path.read_text() for path in shown.iterdir()}) == {
        "kept.txt": "kept"
    }


async def test_streams_and_exit_codes_come_back_apart(box: Sandbox) -> None:
    failed, unknown, killed = await asyncio.gather(
        box.run(shell("echo out; echo err >&2; exit 3")),
        box.run(shell("exec no-such-program")),
        box.run(python("import ctypes; ctypes.string_at(0)")),
    )
    assert (failed.exit_code, failed.stdout, failed.stderr) == (3, b"out\n", b"err\n")
    assert (unknown.exit_code, unknown.ended) == (127, Ended.EXITED)
    assert (killed.exit_code, killed.ended) == (-11, Ended.KILLED)


async def test_any_bytes_go_in_and_come_out(box: Sandbox) -> None:
    text = bytes(range(256)) * 1000
    result = await box.run(shell("cat; head -c 3 /dev/zero >&2", stdin=text))
    assert (result.stdout, result.stderr) == (text, b"\0\0\0")


async def test_each_limit_ends_the_job_and_says_which(box: Sandbox) -> None:
    short = replace(LIMITS, wall_s=0.5, output_bytes=1000)
    late, flood, errors = await asyncio.gather(
        box.run(shell("echo begun; sleep 60", limits=short)),
        box.run(shell("yes", limits=replace(short, wall_s=10))),
        box.run(shell("yes >&2", limits=replace(short, wall_s=10))),
    )
    assert (late.ended, late.stdout) == (Ended.TIMEOUT, b"begun\n")
    assert (flood.ended, errors.ended) == (Ended.OUTPUT_LIMIT, Ended.OUTPUT_LIMIT)
    assert len(flood.stdout) == 1000
    assert set(errors.stderr.split()) <= {b"y"}


async def test_memory_is_bounded(box: Sandbox) -> None:
    code = "try:\n    bytearray(300 << 20)\n    print('used')\nexcept MemoryError:\n    print('refused')"
    result = await box.run(python(code))
    assert result.ended is Ended.OUT_OF_MEMORY or result.stdout == b"refused\n"


async def test_processes_are_bounded(box: Sandbox, request: pytest.FixtureRequest) -> None:
    code = """
import os, time
made = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made)
"""
    process_count = int((await box.run(python(code))).stdout)
    # Without a namespace the kernel counts the processes of all jobs of the user, so the number varies.
    assert process_count < 200 if request.node.callspec.params["box"] == "process" else 0 < process_count <= LIMITS.pids


async def test_a_file_is_bounded(box: Sandbox) -> None:
    result = await box.run(shell("dd if=/dev/zero of=big bs=1M count=100 2>/dev/null; wc -c < big"))
    assert 0 < int(result.stdout) <= LIMITS.work_mb << 20


async def test_what_cannot_be_set_up_is_an_error_and_nothing_runs(box: Sandbox, folder: Path) -> None:
    word = mark()
    with pytest.raises(SandboxError, match=r"No such file|does not exist"):
        await box.run(shell(f"sleep {word}", layers=(Layer(host=folder / "missing"),)))
    assert not alive(word)


async def test_cancelling_kills_at_once_and_leaves_nothing(box: Sandbox) -> None:
    word = mark()
    running = asyncio.create_task(box.run(shell(f"yes & sleep {word}", limits=replace(LIMITS, output_bytes=1 << 30))))
    await start(word)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(word)


async def test_a_job_can_be_cancelled_while_it_is_being_set_up(box: Sandbox) -> None:
    word = mark()
    running = asyncio.create_task(box.run(shell(f"exec sleep {word}")))
    await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(word)


async def test_no_process_outlives_its_job(box: Sandbox) -> None:
    word = mark()
    result = await box.run(shell(f"setsid sleep {word} >/dev/null 2>&1 </dev/null & setsid sleep {word} & exit 0"))
    assert result.ended is Ended.EXITED
    for _ in range(50):  # the kernel needs a moment to remove a killed orphan
        if not alive(word):
            return
        await asyncio.sleep(0.02)
    pytest.fail("a process of the job still runs")


ALLOWED = {
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "PWD",
    "PYTHONDONTWRITEBYTECODE",
    "LD_LIBRARY_PATH",
    "LC_CTYPE",
    "NIGHTSHIFT_JOB",
}


async def test_nothing_of_the_daemon_is_inside(box: Sandbox) -> None:
    """A job sees neither the daemon's variables, nor its descriptors, nor its folder."""
    os.environ["NIGHTSHIFT_TEST_KEY"] = secret = secrets.token_hex(8)
    inherited = os.memfd_create("inherited", 0)
    code = "import json, os; print(json.dumps([dict(os.environ), sorted(os.listdir('/proc/self/fd')), os.getcwd()]))"
    try:
        result = await box.run(python(code))
    finally:
        os.close(inherited)
        del os.environ["NIGHTSHIFT_TEST_KEY"]
    environment, descriptors, folder = json.loads(result.stdout)
    assert secret.encode() not in result.stdout
    assert set(environment) <= ALLOWED
    assert descriptors[:-1] == ["0", "1", "2"], "the last one is that of the listing itself"
    assert folder != str(Path.cwd())


async def test_jobs_share_nothing(box: Sandbox) -> None:
    script = "ls /tmp/left-$0 $HOME/left-$0 left-$0 2>/dev/null; touch $HOME/left-$0 left-$0; sleep 0.2; ls -d left-*"
    word = secrets.token_hex(4)
    job = SandboxJob(argv=("/bin/sh", "-c", script, word))
    results = [*await asyncio.gather(box.run(job), box.run(job)), await box.run(job)]
    assert {result.stdout.decode() for result in results} == {f"left-{word}\n"}


async def test_suites_are_judged_in_it(box: Sandbox, folder: Path) -> None:
    runner = SuiteRunner(box, runtime(), emit=lambda event: None, staging_dir=folder / "staging")
    given = {"test_given.py": "from solution import one\n\n\ndef test_one():\n    assert one() == 1\n"}

    def job(text: str) -> SuiteJob:
        return SuiteJob(
            base=TextTree({"a.txt": ""}), change={"solution.py": text}, given=given, limits=RunLimits(cpu_s=10)
        )

    right = await runner.judge(job("def one():\n    return 1\n"))
    wrong = await runner.judge(job("def one():\n    return 2\n"))
    assert right.passed, right.reason
    assert right.evidence.sandbox == box.name
    assert wrong.failures[0].message == "assert 2 == 1\n +  where 2 = one()"


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
    script = pathlib.Path(tempfile.mkdtemp(), 'script')
    script.write_text('#!/bin/sh\\necho run')
    script.chmod(0o755)
    assert subprocess.run([script], capture_output=True).stdout == b'run\\n'
    assert os.path.expanduser('~') == os.environ['HOME']
    print('fine')

main()
"""


async def test_ordinary_programs_work_inside(box: Sandbox) -> None:
    result = await box.run(python(COMPATIBLE, limits=SandboxLimits()))
    assert result.stdout == b"fine\n", result.stderr


async def test_a_begun_job_waits_for_its_input(strong: Isolation) -> None:
    word = mark()
    job = shell(f"cat; sleep 0.3; echo {word}", limits=replace(LIMITS, wall_s=2))
    begun = await strong.begin(job)
    await asyncio.sleep(2.2)
    result = await begun.finish(b"told\n")
    assert result.stdout == f"told\n{word}\n".encode(), "its wall time begins with its input"


async def test_a_begun_job_can_be_discarded(strong: Isolation) -> None:
    word = mark()
    begun = await strong.begin(shell(f"sleep {word}"))
    await start(word)
    await begun.discard()
    assert not alive(word)


async def test_jobs_share_no_memory_and_no_temporary_files(strong: Isolation) -> None:
    script = "ls -d /dev/shm/left-$0 /tmp/left-$0 2>/dev/null; touch /dev/shm/left-$0 /tmp/left-$0"
    job = SandboxJob(argv=("/bin/sh", "-c", script, secrets.token_hex(4)))
    first, second = await strong.run(job), await strong.run(job)
    assert (first.stdout, second.stdout, second.stderr) == (b"", b"", b"")


async def test_the_memory_of_all_processes_together_is_bounded(strong: Isolation) -> None:
    code = "x = bytearray(40 << 20); import time; time.sleep(3); print('used', flush=True)"
    program = " ".join(runtime().python)
    script = f'for i in 1 2 3 4 5 6 7 8; do {program} -c "$0" & done; wait'
    job = SandboxJob(argv=("/bin/sh", "-c", script, code), mounts=runtime().mounts, limits=LIMITS)
    result = await strong.run(job)
    assert result.ended is Ended.OUT_OF_MEMORY or os.geteuid() != 0, "root has control groups"
    assert result.stdout.count(b"used") < 8 or os.geteuid() != 0


async def test_a_layer_takes_no_room_of_what_a_job_may_write(box: Sandbox, folder: Path) -> None:
    big = layer(folder / "big", {"file": "x" * (3 << 20)}, size_mb=4)
    job = shell("wc -c < file", layers=(big,), limits=SandboxLimits(work_mb=1))
    assert int((await box.run(job)).stdout) == 3 << 20


@pytest.mark.parametrize(
    "script",
    [
        "echo more >> a.txt && cat a.txt",
        "echo more > b && mv b a.txt && cat a.txt",
        "cp run.sh other && echo 'echo more' >> run.sh && ./run.sh",
        "rm -r sub && mkdir sub && echo more > sub/c && ls sub | grep -v b.txt && cat sub/c",
        "dd if=/dev/zero of=a.txt bs=1 count=1 conv=notrunc && echo more",
    ],
)
async def test_what_a_job_does_to_a_layer_stays_with_it(box: Sandbox, folder: Path, script: str) -> None:
    files = {"a.txt": "a\n", "run.sh": "#!/bin/sh\n", "sub/b.txt": "b\n"}
    layers = (layer(folder / "first", {**files, "a.txt": "old"}), layer(folder / "second", files))
    result = await box.run(shell(script, layers=layers))
    assert (result.exit_code, result.stdout.decode().splitlines()[-1:]) == (0, ["more"]), result.stderr
    seen = await box.run(shell("cat a.txt run.sh sub/b.txt; ls -A . sub; ls -A /trees || true", layers=layers))
    assert seen.stdout == b"a\n#!/bin/sh\nb\n.:\na.txt\nrun.sh\nsub\n\nsub:\nb.txt\n", seen.stderr
    assert await asyncio.to_thread(
        lambda: {str(p.relative_to(folder)): p.stat().st_nlink for p in folder.rglob("*.txt")}
    ) == {f"{layer}/{path}": 1 for layer in ("first", "second") for path in ("a.txt", "sub/b.txt")}


async def test_the_command_is_process_1_without_any_right(strong: Isolation) -> None:
    result = await strong.run(python("import os; print(os.getpid()); print(open('/proc/self/status').read())"))
    first, _, rest = result.stdout.decode().partition("\n")
    assert first == "1", "nothing inside can kill it"
    facts = dict(line.split(":\t", 1) for line in rest.splitlines() if ":\t" in line)
    assert {facts[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    groups = facts["Groups"].split()
    assert set(groups) <= {facts["Gid"].split()[0], "65534"}


WRITABLE = """
import os
for folder, folders, names in os.walk('/'):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in ('/proc', '/dev/pts')]
    if os.access(folder, os.W_OK):
        print(folder)
        folders[:] = []
"""


async def test_only_private_folders_can_be_written(strong: Isolation) -> None:
    result = await strong.run(python(WRITABLE))
    assert set(result.stdout.decode().split()) <= {"/tmp", "/work", "/dev/shm", "/dev/mqueue"}
    assert {"/tmp", "/work"} <= set(result.stdout.decode().split())


ESCAPES = {
    "reads_a_file_of_the_host": "open(t['secret']).read() == t['nonce']",
    "writes_a_file_of_the_host": "open(t['canary'], 'a').write('touched')",
    "reads_secrets_in_environments": "any(t['nonce'].encode() in content(f'/proc/{p}/environ') for p in pids())",
    "sees_the_processes_of_the_host": "any(t['nonce'].encode() in content(f'/proc/{p}/cmdline') for p in pids())",
    "connects_to_the_host": "socket.create_connection(('127.0.0.1', t['port']), 1)",
    "opens_kernel_settings_for_writing": "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
    "makes_other_sockets": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "reaches_the_machine_s_host": "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "sets_up_io_uring": "libc.syscall(425, 4, ctypes.byref(ctypes.create_string_buffer(120))) > 0",
    "mounts": "libc.mount(b'x', (d := t['folder'].encode()), b'tmpfs', 0, None) == 0 and not libc.umount(d)",
    "traces_a_child": "libc.ptrace(0, 0, 0, 0) == 0",
    "makes_a_user_namespace": "libc.unshare(0x10000000) == 0",
}  # fmt: skip
PAYLOAD = """
import ctypes, json, os, socket, sys
t = json.load(sys.stdin)
libc = ctypes.CDLL(None)
def pids():
    return [p for p in os.listdir('/proc') if p.isdigit()]
def content(path):
    try:
        return open(path, 'rb').read()
    except OSError:
        return b''
print('started', flush=True)
try:
    if %s:
        print('ESCAPED', flush=True)
except (OSError, MemoryError) as error:
    print(type(error).__name__)
"""
NEED_ROOT = {"opens_kernel_settings_for_writing", "mounts"}


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
async def test_an_escape_that_works_outside_fails_inside(name: str, host: dict[str, object], folder: Path) -> None:
    code, host_bytes = PAYLOAD % ESCAPES[name], json.dumps(host).encode()
    argv = [sys.executable, "-c", code]
    bare = await asyncio.to_thread(subprocess.run, argv, input=host_bytes, capture_output=True, timeout=30, check=False)
    if name not in NEED_ROOT or os.geteuid() == 0:
        assert b"ESCAPED" in bare.stdout, bare.stderr
    canary = Path(str(host["canary"]))
    await asyncio.to_thread(canary.write_text, "whole")

    async def tried(each: str) -> None:
        async with open_it(each, folder) as box:
            inside = await box.run(python(code, stdin=host_bytes))
        assert b"started" in inside.stdout, (each, inside.stderr)
        assert b"ESCAPED" not in inside.stdout, each

    await asyncio.gather(*map(tried, STRONG))
    assert await asyncio.to_thread(canary.read_text) == "whole"
