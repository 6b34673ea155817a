"""Leaves files wherever the next program may find them."""

PLACES = (".", "/tmp", "/var/tmp", "/dev/shm")


def leave(told: dict[str, str]) -> None:
    for place in PLACES:
        try:
            with open(f"{place}/{told['mark']}", "w") as file:
                file.write(told["secret"])
        except OSError:
            continue


def find(told: dict[str, str]) -> None:
    for place in PLACES:
        try:
            print(open(f"{place}/{told['mark']}").read())
        except OSError:
            continue
