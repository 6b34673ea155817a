"""The system-call filter of the sandbox: a BPF program for `bwrap --seccomp`, assembled without a library.

The filter is a deny-list. Code under test may use the kernel like any program, except for calls that only widen the
attack surface (tracing, BPF, io_uring, keys, mounts, new namespaces, kernel administration). Denied calls fail with
EPERM. `clone3` fails with ENOSYS, so that the C library falls back to `clone`, whose flags a filter can see. Sockets
are limited to UNIX, IPv4 and IPv6, because a network namespace alone does not cover AF_VSOCK. Calls in foreign
instruction sets kill the process.

The numbers are those in the kernel's own tables (asm/unistd_64.h and asm-generic/unistd.h).
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator

_LOAD, _JEQ, _JGE, _JSET, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _EOPNOTSUPP, _EAFNOSUPPORT = 1, 38, 95, 97
_RWF_NOWAIT = 0x8  # the kernel then answers only from its memory, which would show what other sandboxes read
_X32_BIT = 0x40000000
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_PERSONALITIES = (0x0, 0xFFFFFFFF)  # the default, and the query for the current one
_FILE_TYPE, _CHARACTER, _BLOCK = 0xF000, 0x2000, 0x6000

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machines for which there is a filter, with the kernel's number (AUDIT_ARCH) of their instruction set."""

# Names of denied calls, with their numbers on x86_64 and on aarch64; None if the machine has no such call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "process_madvise": (440, 440), "pidfd_getfd": (438, 438), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "setns": (308, 268), "unshare": (272, 97), "sethostname": (170, 161), "setdomainname": (171, 162),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "create_module": (174, None), "query_module": (178, None),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "vhangup": (153, 58), "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42), "uselib": (134, None), "_sysctl": (156, None),
    # These calls show which pages of shared files are in memory, and so what another sandbox has read.
    "mincore": (27, 232), "cachestat": (451, 451),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
}  # fmt: skip
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "socketpair": (53, 199), "clone": (56, 220), "clone3": (435, 435), "ioctl": (16, 29),
    "personality": (135, 92), "mknod": (133, None), "mknodat": (259, 33), "preadv2": (327, 286),
}  # fmt: skip

_Step = tuple[int, int, int, int]  # code, jump if true, jump if false, operand: struct sock_filter


def program(machine: str | None = None) -> bytes:
    """Return the filter in the kernel's form: an array of `struct sock_filter`.

    Args:
        machine: the machine's name as in `platform.machine()`; None for this machine.

    Raises:
        KeyError: there is no filter for that machine.
    """
    name = machine or platform.machine()
    steps = [*_only_this(name), *_denials(name), *_special(name), _return(_ALLOW)]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _number(calls: dict[str, tuple[int | None, int | None]], name: str, machine: str) -> int | None:
    return calls[name][list(MACHINES).index(machine)]


def _only_this(machine: str) -> Iterator[_Step]:
    """Return steps that kill calls in other instruction sets, and then load the call's number."""
    yield (_LOAD, 0, 0, _ARCH)
    yield (_JEQ, 1, 0, MACHINES[machine])
    yield _return(_KILL)
    yield (_LOAD, 0, 0, _NUMBER)
    if machine == "x86_64":
        yield (_JGE, 0, 1, _X32_BIT)
        yield _return(_KILL)


def _denials(machine: str) -> Iterator[_Step]:
    for name in DENIED:
        yield from _on_call(_number(DENIED, name, machine), [_return(_ERRNO | _EPERM)])


def _special(machine: str) -> Iterator[_Step]:
    """Return steps that filter calls by their arguments.

    Each rule ends with a return, so the call's number stays loaded for the next rule.
    """
    rules: dict[str, list[_Step]] = {
        "clone3": [_return(_ERRNO | _ENOSYS)],
        "socket": _if_argument_in(0, _FAMILIES, _ALLOW, _ERRNO | _EAFNOSUPPORT),
        "socketpair": _if_argument_in(0, _FAMILIES[:1], _ALLOW, _ERRNO | _EAFNOSUPPORT),
        "personality": _if_argument_in(0, _PERSONALITIES, _ALLOW, _ERRNO | _EPERM),
        "ioctl": _if_argument_in(1, _TERMINAL_INJECTION, _ERRNO | _EPERM, _ALLOW),
        "clone": [_argument(0), (_JSET, 0, 1, _NAMESPACES), _return(_ERRNO | _EPERM), _return(_ALLOW)],
        "preadv2": [_argument(5), (_JSET, 0, 1, _RWF_NOWAIT), _return(_ERRNO | _EOPNOTSUPP), _return(_ALLOW)],
        "mknod": _no_devices(1),
        "mknodat": _no_devices(2),
    }
    for name, body in rules.items():
        yield from _on_call(_number(_CALLS, name, machine), body)


def _on_call(number: int | None, body: list[_Step]) -> list[_Step]:
    """Return steps that run `body` for one call, and skip it for all other calls.

    Returns no steps if the machine has no such call.
    """
    return [] if number is None else [(_JEQ, 0, len(body), number), *body]


def _if_argument_in(index: int, values: tuple[int, ...], then: int, otherwise: int) -> list[_Step]:
    """Return steps that compare the lower 32 bits of an argument with values. All values fit into 32 bits."""
    count = len(values)
    tests: list[_Step] = [(_JEQ, count - i, 0, value) for i, value in enumerate(values)]
    return [_argument(index), *tests, _return(otherwise), _return(then)]


def _no_devices(index: int) -> list[_Step]:
    kinds = _if_argument_in(index, (_CHARACTER, _BLOCK), _ERRNO | _EPERM, _ALLOW)
    return [kinds[0], (_AND, 0, 0, _FILE_TYPE), *kinds[1:]]


def _argument(index: int) -> _Step:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _return(value: int) -> _Step:
    return (_RETURN, 0, 0, value)
