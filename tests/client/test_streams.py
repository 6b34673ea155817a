"""A command with closed or unusual streams, terminals or folders ends with a clear message and the requested output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""Environment variables of an old terminal, or of a service without a locale: programs may print only ASCII."""
CALL = f'exec "{sys.executable}" "{ROOT / "cli.py"}"'


def shell(home: Path, line: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "NIGHTSHIFT_HOME": str(home), "NO_COLOR": "1", **more}
    return subprocess.run(["bash", "-c", line], cwd=home, env=env, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (f"{CALL} help > /dev/full", 1, "error: No space left on device"),
        (f"{CALL} status >&- 2>&- <&-", 3, ""),
        (f"mkdir gone && cd gone && rmdir ../gone && {CALL} todo", 1, "the current folder is gone"),
        (f"printf 'gr\\xf6\\xdfe()' | {CALL} add -", 2, "the standard input is not UTF-8"),
    ],
)
def test_a_call_with_odd_streams_ends_in_a_sentence(tmp_path: Path, line: str, code: int, message: str) -> None:
    done = shell(tmp_path, line)
    assert done.returncode == code
    assert message in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "more"),
    [
        (f"{CALL} add 'Write größe()'", PLAIN),
        (f"printf '\\xef\\xbb\\xbfWrite größe()\\n' | {CALL} add -", {}),
        (f"{CALL} add 'Write größe()' >&- 2>&-", {}),
    ],
    ids=["a plain terminal", "a mark of an editor", "without streams"],
)
def test_a_text_arrives_as_it_was_typed(tmp_path: Path, line: str, more: dict[str, str]) -> None:
    assert shell(tmp_path, line, **more).returncode == 0
    assert '"description":"Write größe()"' in shell(tmp_path, f"{CALL} history --json").stdout.decode()
