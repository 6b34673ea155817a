"""Adds a line to a file outside its folder."""


def attack(told: dict[str, str]) -> None:
    with open(told["canary"], "a") as file:
        file.write("touched\n")
