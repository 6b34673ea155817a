"""Watches `tasks.yaml` and hands on each new reading.

The folder is watched rather than the file, because editors save by replacing it and it may appear later. Where the path
is a symbolic link the folder of its target is watched too. Changes are collected until the file has been quiet for a
moment; a file of the same bytes as the last time is not read again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from nightshift.core.errors import StoreError
from nightshift.queue.intake.marked_yaml import BrokenFile, Fault
from nightshift.queue.intake.tasks_file import Reading, load_bytes, read_bytes

OnReading = Callable[[Reading], bool]
OnFaults = Callable[[Sequence[Fault]], None]
OnCrash = Callable[[Exception], None]
_UNREAD = object()
log = logging.getLogger(__name__)


class Watcher:
    """Calls back from a thread of its own, at the start and after each change, one call at a time.

    Args:
        path: the file; its folder must exist, the file need not.
        on_reading: takes a reading; False where it is to be handed in again later, though the file stays as it is.
        on_faults: takes the faults of a file that cannot be read; the last reading stays in `last`.
        on_crash: told when a callback raised; the watcher has ended then, until `revive`.
        debounce_s: how long the file must be quiet before it is read.
        max_wait_s: after this it is read even if it goes on changing.
        retry_s: after this the file is read again where `on_reading` asks for that, or raises a `StoreError` (a full
            disk, a locked database), because nobody would touch it only for that.
    """

    def __init__(
        self,
        path: Path,
        on_reading: OnReading,
        on_faults: OnFaults,
        on_crash: OnCrash,
        *,
        debounce_s: float = 0.3,
        max_wait_s: float = 3.0,
        retry_s: float = 30.0,
    ) -> None:
        self.last = Reading()
        self._path = path
        self._on_reading, self._on_faults, self._on_crash = on_reading, on_faults, on_crash
        self._debounce_s, self._max_wait_s, self._retry_s = debounce_s, max_wait_s, retry_s
        self._seen: object = _UNREAD
        self._touched, self._stopping = threading.Event(), threading.Event()
        self._observer: BaseObserver | None = None
        self._thread = self._make_thread()

    def start(self) -> None:
        """Begin to watch; the first reading is made at once, by the watcher's thread.

        Raises:
            FileNotFoundError: the folder of the file does not exist.
        """
        self._observer = self._observe()
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Tell whether changes are seen and handed on; before the start they will be."""
        observer = self._observer
        if observer is None or self._stopping.is_set():
            return True
        threads = (self._thread, observer, *observer.emitters)
        return all(thread.is_alive() for thread in threads)

    def revive(self) -> None:
        """Watch again after a thread has ended; the file is read anew.

        Raises:
            FileNotFoundError: the folder of the file does not exist.
        """
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()
        self._observer = self._observe()
        self.reread()
        if not self._thread.is_alive():
            self._thread = self._make_thread()
            self._thread.start()

    def _make_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="intake", daemon=True)

    def reread(self) -> None:
        """Read the file again, changed or not."""
        self._seen = _UNREAD
        self._touched.set()

    def stop(self) -> None:
        """End the watching and wait for a callback that is under way; may be called twice, or before `start`."""
        self._stopping.set()
        self._touched.set()
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _observe(self) -> BaseObserver:
        try:
            return self._scheduled(Observer())
        except FileNotFoundError:
            raise
        except OSError:  # the kernel has no watches left (fs.inotify.max_user_watches)
            return self._scheduled(PollingObserver(timeout=2))

    def _scheduled(self, observer: BaseObserver) -> BaseObserver:
        kinds: list[type[events.FileSystemEvent]] = [
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileMovedEvent,
            events.FileDeletedEvent,
            events.FileAttribEvent,
        ]
        folders = {self._path.parent.resolve(strict=True), self._path.resolve().parent}
        handler = events.FileSystemEventHandler()
        handler.on_any_event = self._noticed  # type: ignore[method-assign]  # the one method of the class that counts
        for folder in sorted(folders):
            observer.schedule(handler, str(folder), event_filter=kinds)
        observer.start()
        return observer

    def _noticed(self, event: events.FileSystemEvent) -> None:
        names = {self._path.name, self._path.resolve().name}
        if {Path(str(event.src_path)).name, Path(str(event.dest_path)).name} & names:
            self._touched.set()

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                taken = self._read()
                self._wait_for_change(None if taken else self._retry_s)
        except Exception as error:  # noqa: BLE001  # the end of a side thread must reach the one who can act on it
            self._on_crash(error)

    def _wait_for_change(self, at_most_s: float | None) -> None:
        self._touched.wait(at_most_s)
        deadline = time.monotonic() + self._max_wait_s
        while self._touched.is_set() and not self._stopping.is_set() and time.monotonic() < deadline:
            self._touched.clear()
            self._touched.wait(self._debounce_s)
        self._touched.clear()

    def _read(self) -> bool:
        """Read the file if it changed; False where the same reading must be handed on again later."""
        try:
            raw = read_bytes(self._path)
            if raw != self._seen:
                self._seen = raw
                self.last = load_bytes(raw)
                if not self._on_reading(self.last):
                    self._seen = _UNREAD
                    return False
        except BrokenFile as broken:
            self._on_faults(broken.faults)
        except StoreError as error:
            log.warning("%s is read again in %g s: %s", self._path.name, self._retry_s, error)
            self._seen = _UNREAD
            return False
        return True
