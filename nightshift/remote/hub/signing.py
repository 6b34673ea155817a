"""Signs (Ed25519) the results and commits that a node hands in, so that any other node can verify their origin.

A database entry that says a task is done on a node is not trusted without that node's signature. If the hub itself
ended a task (cancelled while it waited, or failed with a dependency), there is no signature, but also nothing to land.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path

from nightshift.core.errors import ExtraMissing
from nightshift.core.hub import HubTask, Signed
from nightshift.core.tasks.states import ENDED, Ending, Status


class NodeKey:
    """The key of a node, stored in a file that only its owner may read. The file is created if it does not exist.

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
        """The public key, as Base64."""
        return base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sign(self, text: str) -> str:
        """Return the signature of a text, as Base64."""
        return base64.b64encode(self._key.sign(text.encode())).decode()


def is_signed(public_key: str, text: str, signature: str) -> bool:
    """Check whether the text was signed with the private key that belongs to this public key."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415  as above

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature, validate=True), text.encode())
    except (InvalidSignature, ValueError):
        return False
    return True


def make_signed_text(
    node: str, task_id: int, status: Status, ending: Ending | None, commit: str | None, branch: str | None
) -> str:
    """Return the text to sign for a result. `node` is the node's id, and `task_id` the task's number on the hub."""
    return json.dumps([node, task_id, status, ending, commit, branch])


def make_offered_text(node: str, task_id: int, line: str, commit: str, branch: str) -> str:
    """Return the text to sign for a commit that any node may land. `line` names the target branch."""
    return json.dumps(["landing", node, task_id, line, commit, branch])


def result_is_signed(task: HubTask, keys: Mapping[str, str]) -> Signed | None:
    """Verify the signature of a task's result. Returns None while the task has not ended.

    Args:
        task: the task as the hub has it.
        keys: the public keys by node id.
    """
    if task.status not in ENDED:
        return None
    if not task.signature and task.status is not Status.DONE:
        return Signed.UNKNOWN
    if task.node is None or not (key := keys.get(task.node)) or task.ending is None:
        return Signed.UNKNOWN
    text = make_signed_text(task.node, task.id, task.status, task.ending, task.commit, task.branch)
    return Signed.VALID if is_signed(key, text, task.signature) else Signed.NOT_VALID
