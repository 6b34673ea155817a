"""Recorded replies of a real model, found by a digest of the prompt."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "data" / "real_model_replies.json"
_VARIES = (
    (re.compile(r"\b[0-9a-f]{16}\b"), "SEAL"),
    (re.compile(r"\b\d+\.\d+(?:\.\d+)+\b|\bPython 3\.\d+\b"), "VERSION"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|\+\d\d:\d\d)?)?"), "DATE"),
    (re.compile(r"(?<![\w/])/(?:[\w.-]+/)+"), "/FOLDER/"),
)


def digest_prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of a prompt that is the same on every machine and day.

    Versions, folders, dates and seals are replaced before the digest is computed.
    """
    text = "\0".join(f"{turn['role']}\0{turn['content']}" for turn in messages)
    for shape, name in _VARIES:
        text = shape.sub(name, text)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class RecordedModel:
    """Answers as a real model did: the n-th request with the same prompt gets its n-th recorded reply."""

    def __init__(self, file: Path = FILE) -> None:
        data = json.loads(file.read_text(encoding="utf-8"))
        self.results: dict[str, dict[str, Any]] = data["results"]
        self._replies: dict[str, list[str]] = data["replies"]
        self._asked = Counter[str]()
        self.unknown: list[str] = []
        """The last parts of the prompts that have no recorded reply."""

    def reply(self, _phase: str, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the recorded reply, or "" if there is none."""
        digest = digest_prompt(messages)
        replies, number = self._replies.get(digest, []), self._asked[digest]
        self._asked[digest] += 1
        if number < len(replies):
            return replies[number]
        self.unknown.append(str(messages[-1]["content"])[-300:])
        return ""
