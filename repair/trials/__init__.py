"""The port `core.ports.Trials` in the sandbox: a close look at a suite, many candidates, calls of variants."""

from repair.trials.runner import TrialRunner

__all__ = ["TrialRunner"]
