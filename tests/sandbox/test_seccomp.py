from __future__ import annotations

import asyncio
import functools
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.core.isolation import SandboxJob
from nightshift.sandbox import seccomp
from tests.support.sandboxes import open_it

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT = (0x00050000 | number for number in (1, 38, 95, 97))


@functools.cache
def steps(machine: str) -> list[tuple[int, int, int, int]]:
    raw = seccomp.program(machine)
    return [struct.unpack_from("<HBBI", raw, at) for at in range(0, len(raw), 8)]


def verdict(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """Return the filter's verdict on one system call, computed as the kernel does."""
    name = seccomp.MACHINES[machine] if arch is None else arch
    data = struct.pack("<IIQ6Q", number, name, 0, *arguments, *[0] * (6 - len(arguments)))
    program = steps(machine)
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, operand)[0]
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


X86, ARM = "x86_64", "aarch64"
CASES = [
    ("read", X86, 0, (), ALLOW), ("ptrace", X86, 101, (), EPERM), ("unshare", X86, 272, (0x10000000,), EPERM),
    ("io_uring_setup", ARM, 425, (), EPERM), ("clone3", ARM, 435, (), ENOSYS),
    ("fork by clone", ARM, 220, (0x1200011,), ALLOW), ("clone into a user namespace", X86, 56, (0x10000011,), EPERM),
    ("clone into a network namespace", ARM, 220, (0x40000011,), EPERM), ("unix socket", X86, 41, (1,), ALLOW),
    ("netlink socket", X86, 41, (16,), EAFNOSUPPORT), ("vsock", ARM, 198, (40,), EAFNOSUPPORT),
    ("ip socket pair", X86, 53, (2,), EAFNOSUPPORT), ("window size", X86, 16, (0, 0x5413), ALLOW),
    ("terminal injection", X86, 16, (0, 0x5412), EPERM), ("default personality", X86, 135, (0,), ALLOW),
    ("no address randomisation", X86, 135, (0x0040000,), EPERM),
    ("pipe in the file system", X86, 133, (0, 0x1000 | 0o600), ALLOW),
    ("block device", X86, 133, (0, 0x6000 | 0o600), EPERM),
    ("character device", ARM, 33, (0, 0, 0x2000 | 0o600), EPERM),
    ("a read by a vector", ARM, 286, (3, 0, 1, 0, 0, 0), ALLOW),
    ("a read of high priority", X86, 327, (3, 0, 1, 0, 0, 0x1), ALLOW),
    ("a read from memory or not at all", X86, 327, (3, 0, 1, 0, 0, 0x8), EOPNOTSUPP),
    ("which pages are in memory", X86, 27, (), EPERM), ("how many pages are in memory", X86, 451, (), EPERM),
    ("x32 read", X86, 0x40000000, (), KILL),
]  # fmt: skip


@pytest.mark.parametrize(("name", "machine", "number", "arguments", "expected"), CASES)
def test_each_rule_decides_as_it_should(
    name: str, machine: str, number: int, arguments: tuple[int, ...], expected: int
) -> None:
    assert verdict(machine, number, *arguments) == expected, name


@pytest.mark.parametrize("machine", [X86, ARM])
def test_every_denied_call_is_denied_and_other_instruction_sets_are_killed(machine: str) -> None:
    column = [X86, ARM].index(machine)
    for name, numbers in seccomp.DENIED.items():
        number = numbers[column]
        assert number is None or verdict(machine, number) == EPERM, name
    assert verdict(machine, 0, arch=0x40000003) == KILL


IN_MEMORY = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
source = os.open(sys.executable, os.O_RDONLY)
def told(name, call):
    try:
        print(name, bool(call()))
    except OSError as error:
        print(name, os.strerror(error.errno))
def checked(result):
    if result:
        raise OSError(ctypes.get_errno(), "")
    return True
def pages():
    size = os.fstat(source).st_size
    libc.mmap.restype = ctypes.c_void_p
    place = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, source, ctypes.c_long(0))
    return checked(libc.mincore(ctypes.c_void_p(place), ctypes.c_size_t(size), (ctypes.c_char * (size // 4096 + 1))()))
def whole():
    place, count = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    return checked(libc.syscall(451, source, place, count, 0))
told("a read", lambda: os.preadv(source, [bytearray(9)], 0))
told("a read from memory", lambda: os.preadv(source, [bytearray(9)], 0, os.RWF_NOWAIT))
told("pages", pages)
told("whole files", whole)
"""


def in_memory_by(python: str) -> str:
    """Return the results of the memory calls in a process without the filter."""
    return subprocess.run([python, "-c", IN_MEMORY], capture_output=True, text=True, check=True).stdout


async def test_no_call_tells_what_another_sandbox_has_read(folder: Path) -> None:
    bare = await asyncio.to_thread(in_memory_by, sys.executable)
    assert bare.startswith("a read True\na read from memory True\npages True\n")
    async with open_it("nested", folder) as box:
        result = await box.run(SandboxJob(argv=("/usr/bin/python3", "-c", IN_MEMORY)))
    assert result.stdout.decode().splitlines() == [
        "a read True",
        "a read from memory Operation not supported",
        "pages Operation not permitted",
        "whole files Operation not permitted",
    ]
