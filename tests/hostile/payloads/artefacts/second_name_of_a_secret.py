"""Creates a hard link to a secret file where a report is expected; nothing shows that it is a link."""

import os


def attack(facts: dict[str, str]) -> None:
    os.link(facts["secret_file"], "report.json")
