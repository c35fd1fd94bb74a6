"""What an analysis leaves in a run folder."""

from __future__ import annotations

from dataclasses import asdict

from pact_benchmark.hrc.analysis import AnalysisOptions, Part
from pact_benchmark.hrc.load import parquet_bytes
from pact_benchmark.hrc.recordings import Recordings
from pact_benchmark.report import write_report
from pact_benchmark.results import code_key, write_result
from pact_benchmark.store import RunFolder, digest

RECORDS = "records.parquet"
_OURS = ("study:hrc_", "hrc_records")


def write_run(
    run: RunFolder, recordings: Recordings, parts: list[Part], options: AnalysisOptions
) -> None:
    """Write statistics, tables, figures and the report; recordings made here are kept as well.

    Results of an earlier analysis in the same folder are removed first: figures of other
    recordings, real or simulated, must not stand beside these.
    """
    files = [asdict(file) for file in recordings.files]
    key = digest({"files": files, "options": asdict(options), "code": code_key()})
    _forget_earlier(run)
    run.describe(
        hrc={
            "simulated": recordings.simulated,
            "files": files,
            "skipped": list(recordings.skipped),
            **asdict(options),
        }
    )
    if recordings.simulated:
        with run.part("hrc_records", key) as part:
            part.bytes(RECORDS, parquet_bytes(recordings))
    for item in parts:
        write_result(run, item.study, item.result, key)
    write_report(run)


def _forget_earlier(run: RunFolder) -> None:
    for name in [name for name in run.manifest["parts"] if name.startswith(_OURS)]:
        run.forget(name)
