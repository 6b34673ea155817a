"""Objects that Nightshift stores without git: git can read them, and they get the permissions of their folder."""

import hashlib
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.errors import GitError
from nightshift.git.shared_lock import SharedLock
from nightshift.git.storing import FOLDER_TRIES, Store
from tests.support.git_repo import git, make_repo


def blob(data: bytes) -> tuple[str, bytes]:
    raw = b"blob %d\0%s" % (len(data), data)
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest(), raw


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo") / ".git" / "objects"


def make_blob(objects: Path) -> tuple[str, bytes]:
    """Return the id and the bytes of a blob whose folder the first commit has not created."""
    return next(each for each in (blob(b"%d\n" % n) for n in range(99)) if not (objects / each[0][:2]).exists())


def store(objects: Path) -> Store:
    return Store(objects, SharedLock())


def test_git_reads_what_was_stored_and_finds_no_fault_with_it(objects: Path) -> None:
    blobs = dict(blob(text) for text in (b"", b"one\n", b"x" * 100_000))
    store(objects).put(blobs)
    repo = objects.parent.parent
    assert [git(repo, "cat-file", "-s", id_).strip() for id_ in blobs] == ["0", "4", "100000"]
    git(repo, "fsck", "--strict")
    assert not list(objects.glob("tmp_obj_*"))


@pytest.mark.parametrize(("rights", "of_a_file"), [(0o755, 0o444), (0o2770, 0o440)])
def test_files_and_folders_have_the_rights_of_the_folder_of_objects(objects: Path, rights: int, of_a_file: int) -> None:
    objects.chmod(rights)
    id_, raw = make_blob(objects)
    store(objects).put({id_: raw})
    file = objects / id_[:2] / id_[2:]
    assert stat.S_IMODE(file.stat().st_mode) == of_a_file
    assert stat.S_IMODE(file.parent.stat().st_mode) == rights


def read_stored(folder: Path) -> Path:
    id_, raw = blob(b"x")
    store(folder).put({id_: raw})
    return folder / id_[:2] / id_[2:]


def test_an_object_that_is_there_is_young_again_and_stays(tmp_path: Path) -> None:
    path = read_stored(tmp_path)
    os.utime(path, (1, 1))
    before = path.stat().st_ino
    assert read_stored(tmp_path).stat().st_ino == before
    assert path.stat().st_mtime > time.time() - 60


def test_what_cannot_be_stored_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nightshift.git.storing.flush", fail)
    with pytest.raises(GitError, match=r"could not be stored in .*: No space left on device"):
        read_stored(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_object_has_its_name_before_all_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = list[int]()
    monkeypatch.setattr("nightshift.git.storing.flush", lambda _path: there.append(len(list(tmp_path.glob("??/*")))))
    store(tmp_path).put(dict(blob(b"%d" % number) for number in range(3)))
    assert there == [0, 0, 0]


def test_an_object_is_stored_although_git_removes_the_folder_that_was_made_for_it(
    objects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, raw = make_blob(objects)
    folder, make, made_folders = objects / id_[:2], Path.mkdir, list[Path]()

    def make_and_lose(path: Path, *args: Any, **options: Any) -> None:
        make(path, *args, **options)
        if path == folder and len(made_folders) < FOLDER_TRIES - 1:
            made_folders.append(path)
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", make_and_lose)
    store(objects).put({id_: raw})
    assert git(objects.parent.parent, "cat-file", "-t", id_) == "blob"
    assert len(made_folders) == FOLDER_TRIES - 1
