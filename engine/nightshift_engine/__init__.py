"""The built-in engine: program repair and synthesis that need no model.

The engine localises the fault by the lines that failing tests run (`fault_localisation`), edits the syntax tree there
(`edits`), tries the edits in the sandbox (`search`), and chooses among those that pass (`choose`). It contains no
knowledge of particular tasks, programs or benchmarks.
"""

from __future__ import annotations

from pathlib import Path

from nightshift.sandbox.runtime import Program

PROGRAM = Program(name="nightshift_repair", folder=Path(__file__).resolve().parent / "inside", module="entry")
"""The part of the engine that runs inside the sandbox."""
