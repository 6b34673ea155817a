"""Tells the attempt how far a search is: now and then, so that a log stays readable, and once when it has found."""

from __future__ import annotations

import math
import time
from typing import Any

from core.dialogue import ModelRequest
from core.events import Kind, Level
from models.base import OnText, request_event
from repair.problem import Finding, Progress

EVERY_S = 2.0


class Reporter:
    """One search's word to the outside.

    Args:
        request: names the place of its events; `material.emit` takes them.
        on_text: gets a sign of life with each progress.
    """

    def __init__(self, request: ModelRequest, on_text: OnText | None) -> None:
        self._request, self._on_text = request, on_text
        self._told_at_s = -math.inf if request.within_s is None else time.monotonic()

    def progress(self, progress: Progress) -> None:
        """Tell it, unless something was told a moment ago.

        Where a model stands by, a search that is over in a moment tells nothing.
        """
        if self._on_text:
            self._on_text("")
        now_s = time.monotonic()
        if now_s - self._told_at_s < EVERY_S:
            return
        self._told_at_s = now_s
        tried = f"tried {progress.tried:,} of about {max(progress.estimated, progress.tried):,} candidates"
        data = {"tried": progress.tried, "estimated": progress.estimated, "best": progress.best}
        self._tell(f"repair: {progress.text or tried}", data)

    def found(self, finding: Finding) -> None:
        """Tell what was found, if anything, and the doubt about it."""
        if finding.change is None:
            return
        data = {"tried": finding.tried, "estimated": finding.estimated, "kind": finding.kind}
        self._tell(f"repair: found after {finding.tried:,} candidates: {finding.told}", data)
        if finding.warning:
            self._tell(f"repair: {finding.warning}", data, Level.WARNING)

    def _tell(self, text: str, data: dict[str, Any], level: Level = Level.INFO) -> None:
        material = self._request.material
        if material and material.emit:
            material.emit(request_event(self._request, Kind.REPAIR_PROGRESS, text[:500], data, level))
