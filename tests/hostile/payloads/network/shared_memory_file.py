"""Reads what other programs share in memory, by its name."""


def attack(told: dict[str, str]) -> None:
    print(open("/dev/shm/" + told["shm_file"]).read())
