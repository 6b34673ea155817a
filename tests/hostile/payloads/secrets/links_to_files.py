"""Creates a hard and a symbolic link to a secret in its own folder, and reads both."""

import os


def attack(facts: dict[str, str]) -> None:
    for make in (os.link, os.symlink):
        name = make.__name__
        try:
            make(facts["secret_file"], name)
            print(open(name).read())
        except OSError:
            continue
