"""Reading a CSV file by a schema compared with ``pandas.read_csv`` of the same file: CPU seconds in one run.

    python -m benchmarks.read_by_schema             # print the table: 20 CPU seconds, 60 MB of disk
    python -m benchmarks.read_by_schema --commit    # write benchmarks/reference/read_by_schema.csv

There is one row per kind of file. ``numbers`` has 300,000 rows of 10 numbers with all their digits, ``short`` the
same with six digits, ``texts`` has 5 columns of numbers and 5 of texts with 20 levels, and ``faults`` is ``numbers``
with a wrong field in every hundredth line. Both are read ``ROUNDS`` times in turn, and the best time of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from datasets import records
from datasets.files import write_csv
from datasets.schema import ABSENT, EMPTY, LEVELS, NUMBER, OTHER, Column, Schema

ROWS, WIDTH, ROUNDS = 300_000, 10, 2
WORDS = tuple(f"level {k}" for k in range(20))
FILES = ("numbers", "short", "texts", "faults")
TABLE = Path(__file__).parent / "reference" / "read_by_schema.csv"


def written(what: str, path: Path, rows: int) -> Schema:
    """Write a file of this kind, and return its schema."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(rows, WIDTH)), columns=[f"c{k}" for k in range(WIDTH)])
    columns = [Column(name, NUMBER, (-9.0, 9.0), default=EMPTY) for name in frame]
    if what == "texts":
        for k in range(WIDTH // 2):
            frame[f"c{k}"] = rng.choice(WORDS, rows)
            columns[k] = Column(f"c{k}", LEVELS, levels=WORDS, default=OTHER, missing=ABSENT)
    if what == "faults":
        frame["c0"] = frame["c0"].astype(object)
        frame.loc[frame.index % 100 == 0, "c0"] = "wrong"
    frame.to_csv(path, index=False, float_format="%.6g" if what == "short" else None)
    columns[-1] = Column(f"c{WIDTH - 1}", NUMBER, (-9.0, 9.0))
    return Schema(rows, f"c{WIDTH - 1}", "regression", tuple(columns))


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(rows: int = ROWS, rounds: int = ROUNDS) -> pd.DataFrame:
    """One row per kind of file: CPU seconds of both, and their ratio."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        for what in FILES:
            schema = written(what, path, rows)
            pairs = [
                (
                    seconds(lambda: pd.read_csv(path, low_memory=False)),
                    seconds(lambda schema=schema: records.read(path, schema)),
                )
                for _ in range(rounds)
            ]
            pandas, ours = (min(times) for times in zip(*pairs, strict=True))
            out.append({"file": what, "rows": rows, "pandas": pandas, "by_schema": ours, "ratio": ours / pandas})
    return pd.DataFrame(out).round({"pandas": 2, "by_schema": 2, "ratio": 2})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="reading by a schema compared with pandas")
    parser.add_argument("--commit", action="store_true", help=f"write {TABLE.name}")
    given = parser.parse_args()
    found = measure()
    print(found.to_string(index=False))
    if given.commit:
        write_csv(TABLE, found)
