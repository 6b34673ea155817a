"""Leaves files in every folder where the next program may find them."""

PLACES = (".", "/tmp", "/var/tmp", "/dev/shm")


def leave(facts: dict[str, str]) -> None:
    for folder in PLACES:
        try:
            with open(f"{folder}/{facts['mark']}", "w") as file:
                file.write(facts["secret"])
        except OSError:
            continue


def find(facts: dict[str, str]) -> None:
    for folder in PLACES:
        try:
            print(open(f"{folder}/{facts['mark']}").read())
        except OSError:
            continue
