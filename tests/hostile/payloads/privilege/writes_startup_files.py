"""Adds a command to the files that run at the owner's next login."""

import os


def attack(facts: dict[str, str]) -> None:
    for name in (".bashrc", ".profile", ".config/autostart/a.desktop", ".ssh/authorized_keys"):
        for home in (facts["own_home"], os.path.expanduser("~nobody")):
            try:
                with open(os.path.join(home, name), "a") as file:
                    file.write("true\n")
            except OSError:
                continue
