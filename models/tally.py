"""What one backend did since the process began."""

from __future__ import annotations

from dataclasses import dataclass

from core.dialogue import Completion


@dataclass(slots=True)
class Tally:
    """Sums over replies, and how many requests failed. `unpriced` counts replies whose cost is not known."""

    calls: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    latency_s: float = 0.0

    def answered(self, completion: Completion) -> None:
        """Count a reply."""
        self.calls += 1
        self.tokens_in += completion.tokens_in
        self.tokens_out += completion.tokens_out
        self.cost_usd += completion.cost_usd or 0.0
        self.unpriced += completion.cost_usd is None
        self.latency_s += completion.latency_s

    @property
    def mean_latency_s(self) -> float | None:
        """How long a reply took on average."""
        return self.latency_s / self.calls if self.calls else None
