"""Standard streams that are closed, or whose reader is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAY = "from bootstrap.terminal import say; import sys; sys.stdin.readline(); "
SAY += "say('a'); say('b'); sys.stderr.write('went on')"
FILL = "from bootstrap.terminal import fill_streams; import os; "
FILL += "fill_streams(); print(os.open('/dev/null', os.O_RDONLY) > 2)"


def test_a_reader_that_is_gone_is_spoken_to_no_more_and_the_exit_code_is_clean() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SAY], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(b"\n")
        process.stdin.close()
        assert process.stderr.read() == b"went on"
        assert process.wait(60) == 0


def test_no_file_is_opened_under_the_number_of_a_standard_stream() -> None:
    script = f'exec "{sys.executable}" -c "$0" <&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", script, FILL], cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"True\n")
