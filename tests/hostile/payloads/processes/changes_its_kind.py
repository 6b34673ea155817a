"""Sets the flag that disables the randomisation of its addresses, which makes attacks on its children easy."""

import ctypes


def attack(facts: dict[str, str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.personality(0x0040000) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    if int(open("/proc/self/personality").read(), 16) & 0x40000:
        print("carried", facts["challenge"])
