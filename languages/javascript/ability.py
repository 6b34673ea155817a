"""Says beforehand why this machine cannot judge a task: no Node.js, or one too old for its tests."""

from __future__ import annotations

from core.tasks import Language, TaskSpec
from sandbox.node_program import INSTALL, Node


def refusal(spec: TaskSpec, node: Node | None) -> str:
    """Why a task cannot be judged here; empty when it can, and for other languages."""
    if spec.language is not Language.JAVASCRIPT:
        return ""
    if node is None:
        return INSTALL
    return next((why for path in (*spec.tests, *spec.files) if (why := node.refusal(path))), "")
