"""Posts a notice to the owner's URL, signed so that the receiver can tell it from anybody else's.

The signature is HMAC-SHA256 over the timestamp, a full stop and the body, in hexadecimal behind `sha256=`; with the
timestamp under it, an old message that is sent again can be told by its age. Redirects are refused: they would carry
the notice and its signature to wherever the answer says. No proxy is taken from the environment.
"""

from __future__ import annotations

import hashlib
import hmac

from maintenance.notify.notices import Notice

WALL_S = 15.0


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What the header `X-Nightshift-Signature` says."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


async def post(url: str, secret: str, notice: Notice, timestamp: int, *, wall_s: float = WALL_S) -> str:
    """Send it; returns what went wrong, empty when the receiver took it (any status from 200 to 299).

    Args:
        url: where to; it may be a secret itself and is in no message.
        secret: signs; empty sends no signature.
        notice: sent as JSON, its id in the header `X-Nightshift-Notice`.
        timestamp: now, in seconds since 1970.
        wall_s: for everything.
    """
    import aiohttp  # noqa: PLC0415 - slow to import, and most owners have no URL

    body, at = notice.as_json(), str(timestamp)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Nightshift",
        "X-Nightshift-Notice": notice.id,
        "X-Nightshift-Timestamp": at,
    }
    if secret:
        headers["X-Nightshift-Signature"] = signature(secret, at, body)
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=wall_s), trust_env=False) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            status = answer.status
    except TimeoutError:
        return f"the URL gave no answer within {wall_s:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f"the URL does not answer: {type(error).__name__}"
    if 300 <= status < 400:
        return f"the URL redirects elsewhere (HTTP {status}), which is refused"
    return "" if 200 <= status < 300 else f"the URL answered with HTTP {status}"
