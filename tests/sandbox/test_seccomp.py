from __future__ import annotations

import functools
import platform
import struct

import pytest

from core.isolation import SandboxJob
from sandbox import seccomp
from tests.support.sandboxes import bubblewrap

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, EAFNOSUPPORT = (0x00050000 | number for number in (1, 38, 97))


@functools.cache
def steps(machine: str) -> list[tuple[int, int, int, int]]:
    raw = seccomp.program(machine)
    return [struct.unpack_from("<HBBI", raw, at) for at in range(0, len(raw), 8)]


def verdict(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    """What the kernel would do: runs the program on one call."""
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
    ("read", X86, 0, (), ALLOW),
    ("read", ARM, 63, (), ALLOW),
    ("execve", X86, 59, (), ALLOW),
    ("execve", ARM, 221, (), ALLOW),
    ("ptrace", X86, 101, (), EPERM),
    ("ptrace", ARM, 117, (), EPERM),
    ("unshare", X86, 272, (0x10000000,), EPERM),
    ("io_uring_setup", ARM, 425, (), EPERM),
    ("clone3", X86, 435, (), ENOSYS),
    ("clone3", ARM, 435, (), ENOSYS),
    ("fork by clone", X86, 56, (0x1200011,), ALLOW),
    ("fork by clone", ARM, 220, (0x1200011,), ALLOW),
    ("clone into a user namespace", X86, 56, (0x10000011,), EPERM),
    ("clone into a network namespace", ARM, 220, (0x40000011,), EPERM),
    ("unix socket", X86, 41, (1,), ALLOW),
    ("ip socket", ARM, 198, (2,), ALLOW),
    ("ipv6 socket", X86, 41, (10,), ALLOW),
    ("netlink socket", X86, 41, (16,), EAFNOSUPPORT),
    ("vsock", X86, 41, (40,), EAFNOSUPPORT),
    ("vsock", ARM, 198, (40,), EAFNOSUPPORT),
    ("socket pair", X86, 53, (1,), ALLOW),
    ("ip socket pair", X86, 53, (2,), EAFNOSUPPORT),
    ("window size", X86, 16, (0, 0x5413), ALLOW),
    ("terminal injection", X86, 16, (0, 0x5412), EPERM),
    ("console injection", ARM, 29, (0, 0x541C), EPERM),
    ("default personality", X86, 135, (0,), ALLOW),
    ("asking for it", X86, 135, (0xFFFFFFFF,), ALLOW),
    ("no address randomisation", X86, 135, (0x0040000,), EPERM),
    ("pipe in the file system", X86, 133, (0, 0x1000 | 0o600), ALLOW),
    ("block device", X86, 133, (0, 0x6000 | 0o600), EPERM),
    ("character device", X86, 259, (0, 0, 0x2000 | 0o600), EPERM),
    ("character device", ARM, 33, (0, 0, 0x2000 | 0o600), EPERM),
    ("x32 read", X86, 0x40000000, (), KILL),
]


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


def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(KeyError):
        seccomp.program("vax")


async def test_the_kernel_takes_the_filter_and_keeps_to_it() -> None:
    number = seccomp.DENIED["keyctl"][list(seccomp.MACHINES).index(platform.machine())]
    code = (
        f"import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall({number}, 0, 0, 1), ctypes.get_errno())"
    )
    result = await bubblewrap().run(SandboxJob(argv=("/usr/bin/python3", "-c", code)))
    assert result.stdout == b"-1 1\n"
