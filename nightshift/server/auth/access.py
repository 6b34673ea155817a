"""Checks the token, which is required if anyone other than the owner can reach the API.

A program sends the token itself (`Authorization: Bearer …`). A browser sends it once at `/login` and gets a cookie
whose value is derived from the token. The browser therefore never stores the token, and changing the token ends all
sessions. The cookie's name also depends on the token, because cookies ignore ports and two daemons may share a host.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from nightshift.server.auth.asgi import Scope, header
from nightshift.server.auth.limits import Attempts
from nightshift.storage.files.whole import write_once

SESSION_S = 30 * 24 * 3600


class Access:
    """Compares credentials with the token in constant time, and slows down guessing.

    The right token is always accepted, even from an address that sent many wrong tokens: on the loopback interface all
    programs have one address, and a guessing program must not lock out the owner. The token's length is the protection
    against guessing. Wrong tokens are counted for each address only to make the sender wait.
    """

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("an empty token lets everybody in")
        self._token = token
        self.session = self._derive("session")
        self.cookie_name = f"nightshift_{self._derive('cookie')[:8]}"
        self._attempts = Attempts()

    def _derive(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def admits(self, scope: Scope) -> bool:
        """Check whether a request's headers contain valid credentials.

        Raises:
            Refused: the token is wrong, and this address sent too many wrong tokens recently.
        """
        scheme, _, sent = (header(scope, b"authorization") or "").partition(" ")
        if scheme.lower() == "bearer":
            return self.admits_token(scope, sent.strip())
        # A session value is too long to be guessed, so wrong ones are not counted.
        session = self._read_session(header(scope, b"cookie") or "")
        return session is not None and _same(session, self.session)

    def admits_token(self, scope: Scope, sent: str) -> bool:
        """Check whether a token is the right one; raises `Refused` as `admits` does."""
        if _same(sent, self._token):
            return True
        self._attempts.failed(scope["client"][0] if scope.get("client") else "socket")
        return False

    def _read_session(self, cookies: str) -> str | None:
        pairs = (part.strip().partition("=") for part in cookies.split(";"))
        return next((value for name, _, value in pairs if name == self.cookie_name), None)


def _same(sent: str, right: str) -> bool:
    """Compare two texts in constant time.

    Their digests are compared, because comparing the texts themselves would reveal whether their lengths are equal.
    """
    sent_digest, right_digest = (
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (sent, right)
    )
    return hmac.compare_digest(sent_digest, right_digest)


def read_or_make_token(path: Path) -> str:
    """Return the token in the file. If there is no file, create it with a new token, readable only by its owner.

    Raises:
        OSError: the file can be neither read nor written.
    """
    if write_once(path, token := secrets.token_urlsafe(32), mode=0o600):
        return token
    return path.read_text(encoding="ascii").strip() or _remade(path)


def _remade(path: Path) -> str:
    """Replace an empty token file and return the new token.

    An earlier version left an empty file if it died between creating and writing the file.
    """
    path.unlink()
    return read_or_make_token(path)
