"""The self-test's attempts to escape, made inside the sandbox. Each first does something allowed, as a control."""

import hashlib
import json
import os
import socket
import sys
import time
from pathlib import Path

VSOCK = 40  # AF_VSOCK, which no network namespace isolates
KNOWN = {
    "PATH", "HOME", "TMPDIR", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE", "LD_LIBRARY_PATH",
    "PYTHONDONTWRITEBYTECODE", "NIGHTSHIFT_JOB",
}  # fmt: skip


def main():
    """Run the probe named on the command line."""
    settings = json.load(sys.stdin)
    {"look": look, "memory": memory, "forks": forks}[sys.argv[2]](settings)


def look(settings):
    """Print the result of each probe by name: whether the control worked, and a list of what could be reached."""
    probes = {
        "network": network,
        "home": home,
        "processes": processes,
        "environment": environment,
        "kernel settings": kernel_settings,
    }
    print(json.dumps({name: probe(settings) for name, probe in probes.items()}))


def network(settings):
    """Try to reach a port of the host. As the control, reach a port of this process."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()
        control = reaches(own.getsockname()[1])
    escapes = ["a port of the host can be reached"] if reaches(settings["port"]) else []
    try:
        socket.socket(VSOCK, socket.SOCK_STREAM).close()
        escapes.append("sockets to the machine's host can be made")
    except OSError:
        pass
    return control, escapes


def reaches(port):
    """Check whether a connection can be made to a port of the loopback."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def home(settings):
    """Try to read a file of the host, and to see files in the daemon's home. As the control, read an own file."""
    Path("control").write_bytes(b"x")
    seen = [path for path in settings["home"] if os.path.isfile(path)]  # noqa: PTH113 (Path raises where it may not look)
    escapes = [f"{len(seen)} files of the home can be seen"] if seen else []
    escapes += ["a file of the host can be read"] if read(settings["file"]) else []
    return read("control") == b"x", escapes


def processes(settings):
    """Look for the daemon among the visible processes. As the control, look for this process."""
    lines = [read(f"/proc/{pid}/cmdline") for pid in pids()]
    is_visible = any(hashlib.sha256(line).hexdigest() == settings["cmdline"] for line in lines)
    return read("/proc/self/cmdline") in lines, ["the daemon's process can be seen"] if is_visible else []


def environment(_settings):
    """Look for variables in any environment that are not the sandbox's own. As the control, look for PATH."""
    blobs = [read(f"/proc/{pid}/environ") for pid in pids()]
    names = {entry.partition(b"=")[0].decode("utf-8", "replace") for blob in blobs for entry in blob.split(b"\0")}
    strange = sorted((names | set(os.environ)) - KNOWN - {""})
    return "PATH" in names, [f"variables of the host's can be read: {', '.join(strange[:5])}"] if strange else []


def kernel_settings(_settings):
    """Try to open kernel settings for writing, without writing to them. As the control, read a setting."""
    escapes = []
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger"):
        try:
            os.close(os.open(path, os.O_WRONLY))
            escapes.append(f"{path} can be written")
        except OSError:
            continue
    return bool(read("/proc/sys/kernel/core_pattern")), escapes


def memory(settings):
    """Try to use more memory than the limit. As the control, use a small amount."""
    print("control", len(bytearray(8 << 20)) >> 20, flush=True)
    try:
        held = bytearray(settings["mb"] << 20)
        print("used", len(held) >> 20)
    except MemoryError:
        print("refused")


def forks(settings):
    """Try to start more processes than the limit, and print how many were started."""
    children = []
    try:
        for _ in range(settings["count"]):
            child = os.fork()
            if child == 0:
                time.sleep(5)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, 9)
    print("made", len(children))


def pids():
    """List the numbers of the visible processes."""
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]


def read(path):
    """Return a file's bytes; empty if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
