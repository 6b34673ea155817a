"""Adds a line to a file outside its folder."""


def attack(facts: dict[str, str]) -> None:
    with open(facts["canary"], "a") as file:
        file.write("touched\n")
