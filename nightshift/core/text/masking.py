"""Removes secrets and control characters from all texts that are logged, prompted or shown."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

MASK = "***"
Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
"""Values that JSON can represent."""
MAX_LINE = 2000
_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}|A(?:KI|SI)A[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}"
    r"|pypi-[A-Za-z0-9_-]{40,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
    r"|(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,200}(?=@)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_HARMLESS = {"\t", "\n"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_SHORTEST, _EDGE = 6, 8


class Masker:
    """Masks texts that look like secrets, and known secrets, including their forms in addresses, JSON and base64.

    A text that was cut in the middle of a secret begins or ends with a part of the secret; that part is masked too. The
    class is callable, so most users only need a `Callable[[str], str]`. The whole daemon shares one instance, because
    reloaded settings may add secrets (`learn`).
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._pattern_and_secrets: tuple[re.Pattern[str] | None, tuple[str, ...]] = (None, ())
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask these secrets too from now on.

        No secret is ever forgotten, because later texts may contain an old key.
        """
        new = {form for secret in secrets if len(secret) >= _SHORTEST for form in _forms(secret)}
        forms = tuple(sorted(new.union(self._pattern_and_secrets[1]), key=len, reverse=True))
        # A single assignment, so that other threads see either the old secrets or all of them.
        self._pattern_and_secrets = re.compile("|".join(map(re.escape, forms))) if forms else None, forms

    def __call__(self, text: str) -> str:
        """Return the text with secrets masked."""
        if len(text) < _SHORTEST:
            return text
        pattern, secrets = self._pattern_and_secrets
        if pattern:
            text = pattern.sub(MASK, text)
            for secret in secrets:
                text = _without_edges(text, secret)
        return _SHAPES.sub(MASK, text)

    def shown(self, text: str) -> str:
        """Return the text in printable form and with secrets masked, so that it can be stored and shown."""
        masked = self(text)
        return printable(masked, max_chars=len(masked), max_line=len(masked))

    def clean(self, text: str, max_chars: int) -> str:
        """Clean a text like `shown`, and cut it to at most `max_chars` characters."""
        shown = self.shown(text)
        return shown if len(shown) <= max_chars else shown[: max_chars - 8] + " … (cut)"

    def mask_data(self, data: Plain) -> Plain:
        """Return plain data with the secrets masked in each text, including keys."""
        return _each_text(data, self)

    def show_data(self, data: Plain) -> Plain:
        """Return plain data with each text, including keys, processed by `shown`."""
        return _each_text(data, self.shown)


def _each_text(data: Plain, change: Callable[[str], str]) -> Plain:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {change(key): _each_text(item, change) for key, item in data.items()}
    if isinstance(data, list):
        return [_each_text(item, change) for item in data]
    return data


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(secret.encode()).decode().rstrip("=")


def _without_edges(text: str, secret: str) -> str:
    """Mask the beginning or the end of the text if it is a part of the secret."""
    if len(secret) <= _EDGE:
        return text
    start = text.rfind(secret[:_EDGE], max(0, len(text) - len(secret)))
    if start >= 0 and secret.startswith(text[start:]):
        text = text[:start] + MASK
    end = text.find(secret[-_EDGE:], 0, len(secret))
    if end >= 0 and secret.endswith(text[: end + _EDGE]):
        text = MASK + text[end + _EDGE :]
    return text


def printable(raw: bytes | str, *, max_chars: int = 200_000, max_line: int = MAX_LINE) -> str:
    """Convert untrusted output to text that is safe in a log or a terminal; HTML must still be escaped for display.

    Control, format and unassigned characters become visible escapes. Long lines and long texts are cut off, with a
    note.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    cut = text[:max_chars].replace("\r\n", "\n")
    lines = [_line(line, max_line) for line in cut.split("\n")]
    return "\n".join(lines) + ("\n… (cut)" if len(text) > max_chars else "")


def _line(line: str, most: int) -> str:
    body = line if line.isascii() and line.isprintable() else "".join(_visible(c) for c in line[:most])
    return body if len(line) <= most else body[:most] + " … (line cut)"


def _visible(char: str) -> str:
    if char in _HARMLESS or unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:x}}}"
