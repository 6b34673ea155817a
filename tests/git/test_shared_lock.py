"""A lock that either many threads share or one thread holds exclusively."""

import threading

from nightshift.git.shared_lock import SharedLock

LONG_S = 20.0


def test_one_alone_waits_for_all_and_newcomers_wait_for_it() -> None:
    lock, order = SharedLock(), list[str]()
    inside, leave, waiting = threading.Event(), threading.Event(), threading.Event()

    def visitor() -> None:
        with lock.share():
            inside.set()
            leave.wait(LONG_S)
            order.append("visitor")

    def alone() -> None:
        waiting.set()
        with lock.exclusive():
            order.append("alone")

    def newcomer() -> None:
        with lock.share():
            order.append("newcomer")

    threads = [threading.Thread(target=each) for each in (visitor, alone, newcomer)]
    threads[0].start()
    assert inside.wait(LONG_S)
    threads[1].start()
    assert waiting.wait(LONG_S)
    while not lock._exclusive:
        pass
    threads[2].start()
    leave.set()
    for thread in threads:
        thread.join(LONG_S)
    assert order == ["visitor", "alone", "newcomer"]
