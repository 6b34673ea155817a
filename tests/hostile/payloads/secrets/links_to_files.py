"""Makes links to a secret in its own folder, hard and soft, and reads those."""

import os


def attack(told: dict[str, str]) -> None:
    for make in (os.link, os.symlink):
        name = make.__name__
        try:
            make(told["secret_file"], name)
            print(open(name).read())
        except OSError:
            continue
