"""Ends Python code after a while by raising in the middle of it, where the fork itself still has something to say."""

import signal


class OutOfTime(BaseException):
    """The time is over."""


class Limited:
    """A block that may take so many seconds; what hangs in C is not reached by this."""

    def __init__(self, seconds):
        self._seconds = seconds

    def __enter__(self):
        signal.signal(signal.SIGALRM, self._over)
        signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds / 10)  # again, if it is caught somewhere

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _over(self, *_):
        raise OutOfTime
