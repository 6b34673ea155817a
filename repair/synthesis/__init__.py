"""The port `core.ports.Synthesiser` in the sandbox: small functions from a stub and what tests and docstring expect."""

from repair.synthesis.runner import SynthesisRunner

__all__ = ["SynthesisRunner"]
