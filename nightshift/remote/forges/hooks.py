"""Checks whether a webhook was sent by a forge that knows the owner's secret.

The content of a webhook is never read, because a webhook only makes the daemon look at the forge. For the same reason,
replaying an old webhook is harmless.

GitHub signs the body (`X-Hub-Signature-256`). Gitea and Forgejo sign the body too, under their own header names. GitLab
sends the secret itself (`X-Gitlab-Token`).
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
    """Compare two texts by their digests, since a direct comparison would reveal their length through its duration."""
    sent_digest, right_digest = (
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (sent, right)
    )
    return hmac.compare_digest(sent_digest, right_digest)
