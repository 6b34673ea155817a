"""The token: who may act when the API can be reached by more than the owner.

A program sends the token itself (`Authorization: Bearer …`). A browser gives it once at `/login` and gets a cookie
that is derived from it, so the token is never kept in the browser and a new token ends all sessions. The cookie's
name depends on the token as well, because cookies ignore ports and two daemons may share a host.
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
    """Compares what was presented with the token, in constant time, and slows down guessing.

    The right token is let in whatever was presented before, by the same address too: on the loopback all programs have
    one address, and a guesser among them must not shut out the owner. So what keeps guessers out is a long token; that
    wrong ones are counted for each address tells who keeps sending them to wait.
    """

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("an empty token opens to everybody")
        self._token = token
        self.session = self._derive("session")
        self.cookie_name = f"nightshift_{self._derive('cookie')[:8]}"
        self._attempts = Attempts()

    def _derive(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def admits(self, scope: Scope) -> bool:
        """Judge what a request's headers present.

        Raises:
            Refused: it is wrong, and this address presented too many wrong tokens lately.
        """
        scheme, _, sent = (header(scope, b"authorization") or "").partition(" ")
        if scheme.lower() == "bearer":
            return self.admits_token(scope, sent.strip())
        # A session is too long to be guessed, so it is not counted.
        session = self._read_session(header(scope, b"cookie") or "")
        return session is not None and _same(session, self.session)

    def admits_token(self, scope: Scope, sent: str) -> bool:
        """Judge a token; raises as `admits` does."""
        if _same(sent, self._token):
            return True
        self._attempts.failed(scope["client"][0] if scope.get("client") else "socket")
        return False

    def _read_session(self, cookies: str) -> str | None:
        pairs = (part.strip().partition("=") for part in cookies.split(";"))
        return next((value for name, _, value in pairs if name == self.cookie_name), None)


def _same(sent: str, right: str) -> bool:
    """Compare digests: of two texts the time would tell whether they are as long as each other."""
    sent_digest, right_digest = (
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (sent, right)
    )
    return hmac.compare_digest(sent_digest, right_digest)


def read_or_make_token(path: Path) -> str:
    """The token in the file, made on first use; the file is readable by its owner alone.

    Raises:
        OSError: the file can be neither read nor written.
    """
    if write_once(path, token := secrets.token_urlsafe(32), mode=0o600):
        return token
    return path.read_text(encoding="ascii").strip() or _remade(path)


def _remade(path: Path) -> str:
    """Make the token anew in an empty file, which an earlier version left when it died between creating and writing."""
    path.unlink()
    return read_or_make_token(path)
