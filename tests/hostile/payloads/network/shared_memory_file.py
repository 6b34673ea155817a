"""Reads the memory that other programs share, by its name."""


def attack(facts: dict[str, str]) -> None:
    print(open("/dev/shm/" + facts["shm_file"]).read())
