"""A node signs the results that it hands in, so that any other can tell whose they are (Ed25519)."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from core.errors import ExtraMissing
from core.states import Ending, Status


class NodeKey:
    """The key of a node, in a file that only its owner may read; made when there is none.

    Raises:
        OSError: the file cannot be read or written.
    """

    def __init__(self, file: Path) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  an extra
        except ModuleNotFoundError as error:
            raise ExtraMissing("hub") from error
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            raw = Ed25519PrivateKey.generate().private_bytes_raw()
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(raw)
        self._key = Ed25519PrivateKey.from_private_bytes(file.read_bytes())

    @property
    def public(self) -> str:
        """What others verify with, as Base64."""
        return base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sign(self, text: str) -> str:
        """The signature of a text, as Base64."""
        return base64.b64encode(self._key.sign(text.encode())).decode()


def is_signed(public_key: str, text: str, signature: str) -> bool:
    """Tell whether the node with that key signed the text."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  as above

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def signed_text(
    node: str, task_id: int, status: Status, ending: Ending | None, commit: str | None, branch: str | None
) -> str:
    """What a result says, in the one form that is signed; `node` and `task_id` are the hub's."""
    return json.dumps([node, task_id, status, ending, commit, branch])
