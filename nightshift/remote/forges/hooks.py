"""Checks whether a webhook was sent by a forge that knows the owner's secret.

Its content is never read: it is only a hint.

GitHub signs the body (`X-Hub-Signature-256`), Gitea and Forgejo do as well under their own header names, and GitLab
sends the secret itself (`X-Gitlab-Token`). Replaying an old message is harmless, since a webhook only causes a look at
the forge.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

_PREFIXED, _PLAIN, _SECRET = "x-hub-signature-256", ("x-gitea-signature", "x-forgejo-signature"), "x-gitlab-token"


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Check whether one of the signatures in the headers (names in lower case) is correct."""
    right = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    shown = [(headers.get(_PREFIXED, "").removeprefix("sha256="), right), (headers.get(_SECRET, ""), secret)]
    shown += [(headers.get(name, ""), right) for name in _PLAIN]
    return any(_same(sent, wanted) for sent, wanted in shown if sent)


def _same(sent: str, right: str) -> bool:
    """Compare digests, because comparing texts of different length would reveal the length through timing."""
    sent_digest, right_digest = (
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (sent, right)
    )
    return hmac.compare_digest(sent_digest, right_digest)
