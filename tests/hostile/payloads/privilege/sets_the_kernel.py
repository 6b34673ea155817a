"""Opens kernel settings for writing, but writes nothing."""

import os

SETTINGS = (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
    "/proc/sysrq-trigger", "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper",
)  # fmt: skip


def attack(facts: dict[str, str]) -> None:
    for path in SETTINGS:
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        print("carried", facts["challenge"], path)
