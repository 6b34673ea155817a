"""Leaves a process that holds its own terminal, into which a secret was typed."""

import os


def leave(facts: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    os.write(ours, (facts["secret"].encode() + b"\n") * 30)
    os.chmod(os.ttyname(theirs), 0o666)
    if os.fork() == 0:
        import time

        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        time.sleep(15)
        os._exit(0)


def find(facts: dict[str, str]) -> None:
    for name in filter(str.isdigit, os.listdir("/dev/pts")):
        try:
            terminal = os.open(f"/dev/pts/{name}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            print(os.read(terminal, 100))
        except OSError:
            continue
