"""Makes links to a secret in its own folder, hard and soft, and reads those."""

import os


def attack(facts: dict[str, str]) -> None:
    for make in (os.link, os.symlink):
        name = make.__name__
        try:
            make(facts["secret_file"], name)
            print(open(name).read())
        except OSError:
            continue
