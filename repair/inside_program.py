"""The engine's program in the sandbox, as the sandbox is told of it."""

from __future__ import annotations

from pathlib import Path

from sandbox.runtime import Program

PROGRAM = Program(name="nightshift_repair", folder=Path(__file__).resolve().parent / "inside", module="entry")
