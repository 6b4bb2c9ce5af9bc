# SPDX-License-Identifier: MIT
"""Batches that wait on disk to be sent: bounded, in order, and whole whatever ends the exporter at whichever moment.

A batch is a file, written beside its name, synchronised and then renamed: it is there wholly or not at all. It goes
when the engine has acknowledged it; with a time to keep (`replay`) it stays so long under another name, to be sent once
more to an engine that acknowledges before its data is safe. One exporter at a time has the folder.
"""

import os
import struct
import threading
import time
import zlib
from collections import Counter
from pathlib import Path

from hew.model.lazy_dataclass import dataclass
from hew.model.metric import QueueState
from hew.sources.lock_file import locked

WAITS, SENT, HALF = ".batch", ".sent", ".half"
HEAD = struct.Struct("<8sIIQ")  # what it is, checksum of the rest, samples, bytes of the body
MAGIC = b"hewbat1\n"
FULL, BROKEN, REJECTED, DISK = "queue-full", "broken-file", "rejected", "disk"


@dataclass(frozen=True)
class Batch:
    """A request's body, and how many samples it has."""

    number: int
    body: bytes
    samples: int


class Queue:
    """One folder. Its methods may be called from several threads; one of them takes batches out."""

    def __init__(self, folder: Path, most: int, replay: float = 0.0) -> None:
        self._folder, self._most, self._replay = folder, most, replay
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        taken = f"{folder}: another hew export has this queue; give --queue another folder"
        self._lock_file = locked(folder / "lock", taken)
        self._changed = threading.Condition()
        self._sizes: dict[int, int] = {}
        self._in_hand: int | None = None
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter({FULL: 0, BROKEN: 0, REJECTED: 0, DISK: 0})
        numbers = [0]
        for path in folder.iterdir():
            if path.suffix == HALF:
                path.unlink()
            elif path.suffix in {WAITS, SENT} and path.stem.isdigit():
                numbers.append(int(path.stem))
                if path.suffix == WAITS:
                    self._sizes[int(path.stem)] = path.stat().st_size
        self._next = max(numbers) + 1

    def put(self, body: bytes, samples: int) -> None:
        """Queue a batch. A full queue drops its oldest batches. Batches that cannot be written are counted as lost."""
        with self._changed:
            number, self._next = self._next, self._next + 1
            try:
                self._make_room(HEAD.size + len(body))
                self._write(number, body, samples)
            except OSError:
                self._dropped[DISK] += samples
                return
            self._sizes[number] = HEAD.size + len(body)
            self._changed.notify_all()

    def oldest(self, patience: float) -> Batch | None:
        """The next batch to send; None when none has come in that time."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._sizes), patience)
            while self._sizes:
                number = min(self._sizes)
                batch = _read(self._path(number), number)
                if batch is not None:
                    self._in_hand = number
                    return batch
                self._drop(number, BROKEN)
        return None

    def acknowledge(self, batch: Batch) -> None:
        """The engine has it."""
        with self._changed:
            self._counts["sent"] += batch.samples
            self._leave(batch.number, keep=self._replay > 0)
            self._forget_sent()

    def reject(self, batch: Batch) -> None:
        """The engine will never take it."""
        with self._changed:
            self._dropped[REJECTED] += batch.samples
            self._leave(batch.number, keep=False)

    def retried(self) -> None:
        """Count a sending that came to nothing."""
        with self._changed:
            self._counts["retries"] += 1

    def replay(self) -> None:
        """What was acknowledged within the time to keep waits again: the engine may have lost it."""
        with self._changed:
            self._forget_sent()
            for path in self._folder.glob(f"*{SENT}"):
                number = int(path.stem)
                path.rename(self._path(number))
                self._sizes[number] = self._path(number).stat().st_size
                self._counts["replayed"] += 1
            self._in_hand = None

    def state(self) -> QueueState:
        """How it stands."""
        with self._changed:
            counts = self._counts
            return QueueState(
                sum(self._sizes.values()),
                len(self._sizes),
                counts["sent"],
                counts["retries"],
                dict(self._dropped),
                counts["replayed"],
            )

    def close(self) -> None:
        """Let another exporter have the folder."""
        os.close(self._lock_file)

    def _path(self, number: int, suffix: str = WAITS) -> Path:
        return self._folder / f"{number:016d}{suffix}"

    def _write(self, number: int, body: bytes, samples: int) -> None:
        head = HEAD.pack(MAGIC, _checksum(samples, body), samples, len(body))
        half = self._path(number, HALF)
        try:
            with half.open("wb") as file:
                file.write(head + body)
                file.flush()
                os.fsync(file.fileno())
            half.rename(self._path(number))
        except OSError:
            half.unlink(missing_ok=True)
            raise
        self._synchronise()

    def _make_room(self, size: int) -> None:
        while self._sizes and sum(self._sizes.values()) + size > self._most:
            oldest = min((number for number in self._sizes if number != self._in_hand), default=None)
            if oldest is None:
                return
            self._drop(oldest, FULL)

    def _drop(self, number: int, reason: str) -> None:
        batch = _read(self._path(number), number)
        self._dropped[reason] += batch.samples if batch else 1
        self._leave(number, keep=False)

    def _leave(self, number: int, keep: bool) -> None:
        """It waits no longer."""
        path = self._path(number)
        if keep and path.exists():
            os.utime(path)
            path.rename(self._path(number, SENT))
        else:
            path.unlink(missing_ok=True)
        self._synchronise()
        self._sizes.pop(number, None)
        self._in_hand = None if self._in_hand == number else self._in_hand

    def _forget_sent(self) -> None:
        now = time.time()
        for path in self._folder.glob(f"*{SENT}"):
            if not 0 <= now - path.stat().st_mtime <= self._replay:
                path.unlink()

    def _synchronise(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _checksum(samples: int, body: bytes) -> int:
    return zlib.crc32(body, samples)


def _read(path: Path, number: int) -> Batch | None:
    """A batch as it was written; None for what is not whole."""
    try:
        data = path.read_bytes()
        magic, checksum, samples, size = HEAD.unpack_from(data)
    except (OSError, struct.error):
        return None
    body = data[HEAD.size :]
    if magic != MAGIC or len(body) != size or checksum != _checksum(samples, body):
        return None
    return Batch(number, body, samples)
