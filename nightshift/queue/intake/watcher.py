"""Watches `tasks.yaml` and passes on each new reading of the file.

The folder is watched and not the file, because editors replace the file when they save, and the file may appear later.
If the path is a symbolic link, the folder of its target is watched too. Polling finds every change; events only make
this faster. Some file systems send no events, and a link in the path may be replaced in a folder that is not watched.

A file is read when it is complete: two polls see the same size and time, and a writer has closed or replaced the file.
If no event reports that the file was closed, or its last line has no line end, it must be unchanged for a longer time.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from nightshift.core.errors import StoreError
from nightshift.queue.intake.marked_yaml import BrokenFile, Fault
from nightshift.queue.intake.tasks_file import Reading, load_bytes, read_bytes

OnReading = Callable[[Reading], bool]
OnFaults = Callable[[Sequence[Fault]], None]
OnCrash = Callable[[Exception], None]
Look = tuple[int, ...]
"""Device, inode, size and change time of a file, or the error number if it cannot be examined."""
_ENDS = (b"\n", b"\r", b"]", b"}", b"", b"\0")  # a file in UTF-16 ends with a zero byte, and is refused at once
_EVENTS: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.FileAttribEvent,
    # Only Linux reports that a writer has closed a file.
    events.FileClosedEvent if sys.platform == "linux" else events.FileModifiedEvent,
]
log = logging.getLogger(__name__)


class Watcher:
    """Calls back from its own thread, at the start and after each change, one call at a time.

    Args:
        path: the file; neither the file nor its folder needs to exist.
        on_reading: processes a reading of the file; if it returns False, it is called again later, even if the file has
            not changed.
        on_faults: receives the faults of a file that cannot be read; the last reading stays in `last`.
        on_crash: called when a callback raised an error; the watcher has then ended, until `revive` is called.
        debounce_s: seconds between two polls of a file that was closed or replaced.
        rest_s: seconds for which a file must be unchanged if a writer may still have it open.
        look_s: seconds between two polls without an event. If `on_reading` returned False or raised a `StoreError`
            (because of a full disk or a locked database), the file is read again after this time, even if it has not
            changed.
    """

    def __init__(
        self,
        path: Path,
        on_reading: OnReading,
        on_faults: OnFaults,
        on_crash: OnCrash,
        *,
        debounce_s: float = 0.3,
        rest_s: float = 9.0,
        look_s: float = 10.0,
    ) -> None:
        self.last = Reading()
        self._path = path
        self._on_reading, self._on_faults, self._on_crash = on_reading, on_faults, on_crash
        self._debounce_s, self._rest_s, self._look_s = debounce_s, rest_s, look_s
        self._read_look: Look | None = None
        self._raw: bytes | None = None
        self._is_closed = False
        self._touched, self._stopping = threading.Event(), threading.Event()
        self._observer: BaseObserver | None = None
        self._folders: dict[str, Look] = {}
        self._thread = self._make_thread()

    def start(self) -> None:
        """Begin to watch; the watcher's thread makes the first reading at once."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """True if changes are seen and passed on, or if the watcher has not started yet or was stopped."""
        return self._thread.is_alive() or self._thread.ident is None or self._stopping.is_set()

    def revive(self) -> None:
        """Restart the thread after it has ended; the file is read again."""
        self.reread()
        self._thread = self._make_thread()
        self._thread.start()

    def _make_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="intake", daemon=True)

    def reread(self) -> None:
        """Read the file again, even if it has not changed."""
        self._raw = self._read_look = None
        self._touched.set()

    def stop(self) -> None:
        """Stop watching and wait for a running callback to end; may be called twice, or before `start`."""
        self._stopping.set()
        self._touched.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        seen, since = self._look(), -math.inf
        try:
            while not self._stopping.is_set():
                self._follow_folders()
                look = self._look()
                if look != seen:
                    seen, since = look, time.monotonic()
                self._touched.wait(self._read_if_whole(look, time.monotonic() - since))
                self._touched.clear()
        except Exception as error:  # noqa: BLE001  # the end of a side thread must reach the one who can act on it
            self._on_crash(error)
        finally:
            self._stop_observer()

    def _look(self) -> Look:
        try:
            at = self._path.stat()
        except OSError as error:
            return (error.errno or 0,)
        return at.st_dev, at.st_ino, at.st_size, at.st_ctime_ns

    def _read_if_whole(self, look: Look, rest_s: float) -> float:
        """Read the file if it is complete and has changed since the last reading.

        Returns the seconds until the next poll.

        Args:
            look: the file's current state.
            rest_s: seconds for which the file has been unchanged.
        """
        if look == self._read_look:
            self._is_closed = False
            return self._look_s
        needed_s = self._debounce_s if self._is_closed else self._rest_s
        if rest_s < needed_s:
            return needed_s - rest_s
        try:
            raw = read_bytes(self._path)
            if rest_s < self._rest_s and raw[-1:] not in _ENDS:
                return self._rest_s - rest_s
            self._read_look = look
            if raw != self._raw:
                self._raw = raw
                self.last = load_bytes(raw)
                if not self._on_reading(self.last):
                    self._raw = self._read_look = None
        except BrokenFile as broken:
            self._read_look, self._raw = look, None
            self._on_faults(broken.faults)
        except StoreError as error:
            log.warning("%s is read again in %g s: %s", self._path.name, self._look_s, error)
            self._raw = self._read_look = None
        return self._look_s

    def _follow_folders(self) -> None:
        """Watch the folders of the file and of its link's target, where they exist and the system can watch them."""
        folders = dict[str, Look]()
        for folder in {self._path.parent, Path(os.path.realpath(self._path)).parent}:
            with contextlib.suppress(OSError):
                at = folder.stat()
                folders[str(folder)] = at.st_dev, at.st_ino
        observer = self._observer
        if observer and folders == self._folders and all(each.is_alive() for each in (observer, *observer.emitters)):
            return
        self._stop_observer()
        observer = self._observer = Observer()
        self._folders = folders
        handler = events.FileSystemEventHandler()
        handler.on_any_event = self._notice  # type: ignore[method-assign]  # the one method of the class that counts
        try:
            for name in folders:
                observer.schedule(handler, name, event_filter=_EVENTS)
            observer.start()
        except OSError:  # no inotify watches are left (fs.inotify.max_user_watches), or the folder was just removed
            self._stop_observer()

    def _notice(self, event: events.FileSystemEvent) -> None:
        names = {self._path.name, Path(os.path.realpath(self._path)).name}
        if not {Path(os.fsdecode(path)).name for path in (event.src_path, event.dest_path)} & names:
            return
        # A new file will be closed later, but a new link is complete at once.
        self._is_closed |= not isinstance(event, events.FileCreatedEvent) or self._path.is_symlink()
        self._touched.set()

    def _stop_observer(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.unschedule_all()
            if observer.is_alive():
                observer.stop()
                observer.join()
