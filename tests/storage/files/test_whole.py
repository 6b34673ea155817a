"""Files that are written completely or not at all."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nightshift.storage.files.whole import write_once, write_whole

ROOT = Path(__file__).resolve().parents[3]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_is_written_and_replaced_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"
    write_whole(path, "one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["a.json"]


def test_a_secret_is_never_readable_by_others(tmp_path: Path) -> None:
    write_whole(tmp_path / "token", "x", mode=0o600)
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "old"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", "new")
    assert names(tmp_path) == ["a", "folder"]


def test_of_many_who_write_once_one_wins(tmp_path: Path) -> None:
    path, won = tmp_path / "seal", list[str]()

    def attempt(text: str) -> None:
        if write_once(path, text, mode=0o600):
            won.append(text)

    threads = [threading.Thread(target=attempt, args=(str(n) * 1000,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [path.read_text()]
    assert names(tmp_path) == ["seal"]


def test_a_process_that_is_killed_while_it_writes_leaves_whole_files_only(tmp_path: Path) -> None:
    writer = (
        "import sys, itertools, pathlib; from nightshift.storage.files.whole import write_whole\n"
        "for n in itertools.count():\n"
        "    write_whole(pathlib.Path(sys.argv[1]), str(n % 10) * 300_000)\n"
        "    print(n, flush=True)\n"
    )
    path = tmp_path / "state.json"
    for _ in range(3):
        argv = [sys.executable, "-c", writer, str(path)]
        with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as process:
            assert process.stdout
            for _ in range(4):
                process.stdout.readline()
            process.kill()
        text = path.read_text()
        assert len(text) == 300_000
        assert len(set(text)) == 1
