"""Stores a few objects as git does: each in its own file, which is flushed to the disk before it gets its final name.

Starting git for this would cost more than the rest of a commit, and gitdb does not flush and does not support SHA-256.
Trees are not compressed, because half of their bytes are ids, which are incompressible, and packing stores only the
differences between trees. Files left by a crash have names that `git prune` recognises.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from nightshift.core.errors import GitError
from nightshift.git.shared_lock import SharedLock
from nightshift.storage.files.whole import flush

FOLDER_TRIES = 10
"""Maximum number of tries to create a folder, because git may remove the folder meanwhile."""


class Store:
    """The loose objects of a repository; thread-safe.

    Args:
        folder: The folder of the repository's objects.
        lock: Held in shared mode while objects are stored, so that nobody deletes objects meanwhile (see
            git/maintenance.py).

    Attributes:
        loose_bytes: Disk space of all loose objects in bytes; None until they are counted.
    """

    def __init__(self, folder: Path, lock: SharedLock) -> None:
        self._folder, self._lock = folder, lock
        self.loose_bytes: int | None = None

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects, given by their ids; each begins with git's header of type and size.

        Raises:
            GitError: The objects could not be stored, for example because the disk is full.
        """
        with self._lock.share():
            try:
                self._put({id_: data for id_, data in objects.items() if not self._is_there(id_)})
            except OSError as error:
                raise GitError(f"objects could not be stored in {self._folder}: {error.strerror}") from error

    def _is_there(self, id_: str) -> bool:
        """Return True if an object has its own file, and refresh the file's time, so that git does not prune it."""
        try:
            os.utime(self._file(id_))
        except OSError:  # Missing, or another user's file, whose time cannot be changed: write it again
            return False
        return True

    def _put(self, objects: Mapping[str, bytes]) -> None:
        drafts, rights = dict[str, Path](), stat.S_IMODE(self._folder.stat().st_mode)  # Same readers as the folder
        try:
            for id_, data in objects.items():
                descriptor, name = tempfile.mkstemp(prefix="tmp_obj_", dir=self._folder)
                drafts[id_] = Path(name)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(zlib.compress(data, 0 if data.startswith(b"tree ") else 1))
                    os.fchmod(descriptor, rights & 0o444)
            for draft in drafts.values():  # Not in the first loop: one flush often covers all drafts written so far
                flush(draft)
            for id_, draft in drafts.items():
                size = draft.stat().st_blocks * 512
                _move_into_folder(draft, self._file(id_), rights)
                self.loose_bytes = None if self.loose_bytes is None else self.loose_bytes + size
        except BaseException:
            for draft in drafts.values():
                draft.unlink(missing_ok=True)
            raise

    def _file(self, id_: str) -> Path:
        return self._folder / id_[:2] / id_[2:]


def _move_into_folder(draft: Path, file: Path, rights: int) -> None:
    """Move a draft to its final name, and try again if git removes the folder meanwhile.

    Git may remove even a folder that was just created.
    """
    for _ in range(FOLDER_TRIES):
        with contextlib.suppress(FileNotFoundError):
            draft.replace(file)
            return
        file.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            file.parent.chmod(rights)
    draft.replace(file)
