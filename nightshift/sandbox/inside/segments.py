"""Tells the output of a run apart by test while it streams, and keeps the end of what may be asked for.

The child writes the token and a test's id in a line before each test, and behind it the token with `DROPPED` where
nobody will ask what the test printed, else with nothing. What is asked for is the output of tests that failed and of
the one that was running; so there is no limit on what all tests print together.
"""

SEGMENT = 3000  # bytes kept of each test
KEPT = 200_000  # bytes kept of the tests that failed
NAME = 4000  # what is longer is no id
DROPPED = b"+"


class Segments:
    """Takes a stream as it comes; its length is that of the segment it is in.

    Args:
        token: what divides the stream.
    """

    def __init__(self, token: bytes) -> None:
        self._token = token
        self._rest = b""  # it may be the beginning of a token, or of an id
        self._in_name = False
        self._name, self._text, self._length = b"", b"", 0
        self._outside = b""
        self._outputs: dict[bytes, bytes] = {}
        self._left = KEPT

    def __len__(self) -> int:
        return self._length + len(self._rest)

    def extend(self, data: bytes) -> None:
        """Take in what came next."""
        data, at = self._rest + data, 0
        while True:
            mark = b"\n" if self._in_name else self._token
            end = data.find(mark, at)
            if end < 0:
                break
            (self._enter if self._in_name else self._take)(data[at:end])
            self._in_name = not self._in_name
            at = end + len(mark)
        if self._in_name and len(data) - at > NAME:
            self._enter(data[at : at + NAME])
            self._in_name, at = False, at + NAME
        if not self._in_name:
            safe_end = max(at, len(data) - len(self._token) + 1)
            self._take(data[at:safe_end])
            at = safe_end
        self._rest = data[at:]

    def take_outputs(self) -> dict[str, str]:
        """The output by test, and that outside of tests under an empty name; call it once, when all has come."""
        if not self._in_name:
            self._take(self._rest)
        self._left = max(self._left, SEGMENT)  # the test that was running is the one that is asked for
        self._close()
        outputs = {b"": self._outside, **self._outputs}
        return {
            name.decode("utf-8", "replace"): text.decode("utf-8", "replace")
            for name, text in outputs.items()
            if text.strip()
        }

    def _take(self, text: bytes) -> None:
        self._text = (self._text + text[-SEGMENT:])[-SEGMENT:]
        self._length += len(text)

    def _enter(self, name: bytes) -> None:
        """Begin the segment of that name."""
        if name != DROPPED:
            self._close()
        self._name, self._text, self._length = b"" if name == DROPPED else name, b"", 0

    def _close(self) -> None:
        """Keep what was printed in the segment that ends."""
        if not self._name:
            self._outside = (self._outside + self._text)[-SEGMENT:]
        elif self._text.strip() and self._left > 0:
            self._outputs[self._name] = self._text
            self._left -= len(self._text)
