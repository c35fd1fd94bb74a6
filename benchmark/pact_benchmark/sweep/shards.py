"""Shards: one small file per unit of a long job, written whole, named by what it was made from.

The shards of one job lie in a folder named by the digest of the job's inputs, each beside its
checksum. A shard that matches its checksum is finished and right, so resuming is looking: nothing
else records progress.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pact_benchmark.store import file_digest, write_atomically

DIGITS = 16
"""Characters of the input digest in a folder name."""


@dataclass(frozen=True, slots=True)
class ShardFolder:
    """Where the shards of one job lie.

    Attributes:
        folder: the job's folder, for example `RUN/sweep/points`.
        inputs: digest of everything that the shards depend on but their name.
        suffix: ending of the file names, for example `.json`.
    """

    folder: Path
    inputs: str
    suffix: str

    @property
    def path(self) -> Path:
        """Return the folder of this job's shards."""
        return self.folder / self.inputs[:DIGITS]

    def file(self, name: str) -> Path:
        """Return the path of one shard."""
        return self.path / f"{name}{self.suffix}"

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that have no shard yet, or a damaged one, in order."""
        return [name for name in names if not self._intact(name)]

    def write(self, name: str, content: bytes) -> None:
        """Write one shard, then the checksum that makes it count."""
        write_atomically(self.file(name), content)
        checksum = hashlib.sha256(content).hexdigest()
        write_atomically(self._checksum(name), checksum.encode("ascii"))

    def _checksum(self, name: str) -> Path:
        return self.path / f"{name}{self.suffix}.sha256"

    def _intact(self, name: str) -> bool:
        try:
            return self._checksum(name).read_bytes().decode() == file_digest(self.file(name))
        except (OSError, UnicodeDecodeError):
            return False

    def clear_leftovers(self) -> None:
        """Delete what writers that were killed left behind."""
        for leftover in self.path.glob(".*.tmp"):
            leftover.unlink(missing_ok=True)

    def read(self, name: str) -> bytes:
        """Read one finished shard."""
        return self.file(name).read_bytes()


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How far a sharded job is.

    Attributes:
        points: units of the job.
        done: finished units.
        rate: units per second while the last ones of this session were made; none before two
            of them are done.
        seconds_left: remaining time at that rate; none when the rate is unknown.
    """

    points: int
    done: int
    rate: float | None
    seconds_left: float | None


def job_status(
    shards: ShardFolder, names: list[str], *, since: float = 0.0, recent: int = 32
) -> JobStatus:
    """Return how far a job is.

    Args:
        shards: where the shards lie.
        names: all units of the job.
        since: when the present session began, in seconds since the epoch; what was written
            earlier is done but says nothing about the rate.
        recent: how many of the shards written last the rate is taken from.
    """
    missing = set(shards.missing(names))
    times = sorted(shards.file(name).stat().st_mtime for name in names if name not in missing)
    done, last = len(times), [when for when in times if when >= since][-recent:]
    span = last[-1] - last[0] if len(last) > 1 else 0.0
    rate = (len(last) - 1) / span if span > 0 else None
    left = None if rate is None else (len(names) - done) / rate
    return JobStatus(len(names), done, rate, left)
