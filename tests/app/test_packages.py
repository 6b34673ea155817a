"""The set-up script installs packages and shows its progress."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nightshift.app import packages

UV = """#!/bin/sh
cat >&2 <<END
Resolved 2 packages in 8ms
Downloading numpy (15.9MiB)
 Downloaded numpy
 + flask==3.1.3
 + numpy==2.4
END
"""


def test_without_a_terminal_the_progress_comes_in_lines_and_the_list_of_all_packages_stays_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    packages.uv_program(python).write_text(UV)
    packages.uv_program(python).chmod(0o755)
    assert packages.install(python, ["flask"], os.environ) == 0
    shown = ["Resolved 2 packages in 8ms", "Downloading numpy (15.9MiB)", " Downloaded numpy"]
    assert capfd.readouterr().err.splitlines() == shown
