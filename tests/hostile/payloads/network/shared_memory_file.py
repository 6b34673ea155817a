"""Reads shared memory of other programs by its file name."""


def attack(facts: dict[str, str]) -> None:
    print(open("/dev/shm/" + facts["shm_file"]).read())
