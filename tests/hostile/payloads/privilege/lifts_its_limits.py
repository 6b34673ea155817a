"""Opens the control files of control groups for writing, but writes nothing."""

import os

NAMES = {"cgroup.procs", "pids.max", "memory.max", "memory.limit_in_bytes", "cpu.max", "cpu.cfs_quota_us", "tasks"}


def attack(facts: dict[str, str]) -> None:
    places = {line.split()[1] for line in open("/proc/mounts") if " cgroup" in line} | {"/sys/fs/cgroup"}
    for root in places:
        for folder, folders, names in os.walk(root):
            for path in (os.path.join(folder, name) for name in NAMES.intersection(names)):
                try:
                    os.close(os.open(path, os.O_WRONLY))
                except OSError:
                    continue
                print("carried", facts["challenge"], path)
                return
            folders[:] = folders[:3]
