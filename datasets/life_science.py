"""Life Science (ds1.10): ten principal components of chemical compounds, used by Park et al. (2017) for DP-EM."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import DataSet, RawFile, Source, Table, parse_lines, require_width

COLUMNS = tuple(f"pc{i}" for i in range(1, 11))


def parse(path: Path) -> Table:
    """Rows of lifesci.csv: no header, ten components and a 0/1 class. The class is the target, which no method uses."""
    path = Path(path)
    with path.open(encoding="utf-8") as lines:
        rows = parse_lines(path, lines, ",")
    require_width(path, rows, 11)
    return Table(np.ascontiguousarray(rows[:, :10]), rows[:, 10].copy(), COLUMNS)


# No range of any column is documented anywhere.
DATASET = DataSet(
    name="life_science",
    title="Life Science",
    n_rows=26733,
    n_inputs=10,
    columns=COLUMNS,
    target="class",
    unit="0 or 1",
    licence="none stated",
    doi="",
    raw=(
        RawFile(
            "lifesci.csv",
            "07bd1de974a5a897efcea0d25a270b762952e3edc01729b12d576303ac7f4eb2",
            (Source("https://raw.githubusercontent.com/mijungi/dpem_code/13c705c/data/lifesci.csv"),),
            megabytes=2.2,
        ),
    ),
    parse=parse,
    x_bounds=(None,) * 10,
    n_splits=10,
    table_sha256="53fe9c29c2ecde71940d59d404170a92a91fb4b86ab014654fea993c51fde86f",
    task="density",
)
