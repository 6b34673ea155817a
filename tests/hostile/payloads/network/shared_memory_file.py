"""Reads what other programs share in memory, by its name."""


def attack(facts: dict[str, str]) -> None:
    print(open("/dev/shm/" + facts["shm_file"]).read())
