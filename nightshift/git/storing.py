"""Stores objects as git does where they are few: each in a file of its own, on the disk before it gets its name.

To start git for them costs more than all the rest of a commit, and gitdb flushes nothing and knows no SHA-256. Trees
are not compressed: the half of them is ids, which cannot be, and packing keeps what differs from tree to tree. What is
left of a crash has a name by which `git prune` knows it.
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
"""How often a folder is made again that git removes meanwhile."""


class Store:
    """The loose objects of a repository; thread-safe.

    Args:
        folder: of its objects.
        lock: shared while something is stored, so that nothing is dropped meanwhile (see git/maintenance.py).

    Attributes:
        loose_bytes: what all loose objects take on the disk; None until somebody counted them.
    """

    def __init__(self, folder: Path, lock: SharedLock) -> None:
        self._folder, self._lock = folder, lock
        self.loose_bytes: int | None = None

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Store objects by their ids, with git's head of type and size.

        Raises:
            GitError: they could not be stored, such as on a full disk.
        """
        with self._lock.share():
            try:
                self._put({id_: data for id_, data in objects.items() if not self._is_there(id_)})
            except OSError as error:
                raise GitError(f"objects could not be stored in {self._folder}: {error.strerror}") from error

    def _is_there(self, id_: str) -> bool:
        """Tell whether an object has a file of its own; one that has is young again, and not dropped."""
        try:
            os.utime(self._file(id_))
        except OSError:  # also one of somebody else's, whose time only he may set: it is written again
            return False
        return True

    def _put(self, objects: Mapping[str, bytes]) -> None:
        drafts, rights = dict[str, Path](), stat.S_IMODE(self._folder.stat().st_mode)  # whoever may read that reads all
        try:
            for id_, data in objects.items():
                descriptor, name = tempfile.mkstemp(prefix="tmp_obj_", dir=self._folder)
                drafts[id_] = Path(name)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(zlib.compress(data, 0 if data.startswith(b"tree ") else 1))
                    os.fchmod(descriptor, rights & 0o444)
            for draft in drafts.values():  # after all are written: the first flush takes most of the others along
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
    """Give a draft its name; git removes a folder that it has emptied, also one that was made the moment before."""
    for _ in range(FOLDER_TRIES):
        with contextlib.suppress(FileNotFoundError):
            draft.replace(file)
            return
        file.parent.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            file.parent.chmod(rights)
    draft.replace(file)
