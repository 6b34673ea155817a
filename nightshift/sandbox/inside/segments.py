"""Divides the output of a run by test while it arrives, and keeps the end of each part that may be needed.

Before each test, the child writes a line with the token and the test's id. After the test, it writes the token again,
followed by `DROPPED` if nobody needs the test's output, otherwise by nothing. Only the output of failed tests, and of a
test that was running at the end, is needed. So there is no limit for the output of all tests together.
"""

SEGMENT = 3000  # bytes kept of each test
KEPT = 200_000  # total bytes kept of failed tests
NAME = 4000  # the maximum length of a test's id; a longer name is not an id
DROPPED = b"+"


class Segments:
    """Divides a stream as it arrives. `len` gives the length of the current part.

    Args:
        token: the text that divides the stream.
    """

    def __init__(self, token: bytes) -> None:
        self._token = token
        self._rest = b""  # may be the beginning of a token or an id
        self._in_name = False
        self._name, self._text, self._length = b"", b"", 0
        self._outside = b""
        self._outputs: dict[bytes, bytes] = {}
        self._left = KEPT

    def __len__(self) -> int:
        return self._length + len(self._rest)

    def extend(self, data: bytes) -> None:
        """Add the next part of the stream."""
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
        """Return the output of each test, and output outside of tests under an empty name. Call it once, at the end."""
        if not self._in_name:
            self._take(self._rest)
        self._left = max(self._left, SEGMENT)  # the output of the test that was running is needed
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
        """Begin the part with this name."""
        if name != DROPPED:
            self._close()
        self._name, self._text, self._length = b"" if name == DROPPED else name, b"", 0

    def _close(self) -> None:
        """Store the output of the part that ends."""
        if not self._name:
            self._outside = (self._outside + self._text)[-SEGMENT:]
        elif self._text.strip() and self._left > 0:
            self._outputs[self._name] = self._text
            self._left -= len(self._text)
