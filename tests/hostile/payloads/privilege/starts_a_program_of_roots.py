"""Makes a file as root, through a program that runs as its owner."""

import os
import subprocess


def attack(told: dict[str, str]) -> None:
    for place in told["places"].split(":"):
        made = os.path.join(told["canaries"], "of-root")
        for target in (made, "of-root"):
            subprocess.run([f"{place}/touch", target], stderr=subprocess.DEVNULL, check=False)
            if os.path.exists(target) and os.stat(target).st_uid == 0:
                print("carried", told["challenge"])
