"""MNIST, all ten digits: 60,000 training pictures of 28 x 28 pixels, then the 10,000 test pictures.

``mnist`` has only the digits 3 and 8. Both share the raw files of the mirror's folder ``mnist``. The published split
(``datasets.protocols.official``) is by position, with the training file first and the test file second.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datasets.base import DataError, DataSet, Table
from datasets.mnist import COLUMNS, SIDE, idx, read_idx
from datasets.protocols.official import TRAIN

CLASSES = 10


def parse(train_images: Path, train_labels: Path, test_images: Path, test_labels: Path) -> Table:
    """The rows of the four files, with pixels 0 to 255 row by row and the digit as the target.

    Raises DataError for a damaged file or one of another size.
    """
    x, y = [], []
    for images, labels in ((train_images, train_labels), (test_images, test_labels)):
        images, labels = Path(images), Path(labels)
        pictures, digits = read_idx(images, 3), read_idx(labels, 1)
        if len(pictures) != len(digits) or pictures.shape[1:] != (SIDE, SIDE) or (digits >= CLASSES).any():
            raise DataError(
                f"{images.name} has shape {pictures.shape}, {labels.name} {digits.shape}; they must be {SIDE} x {SIDE} "
                "pixels and one digit (0 to 9) a picture: delete both files and fetch them again"
            )
        x.append(pictures.reshape(-1, SIDE * SIDE))
        y.append(digits)
    return Table(np.concatenate(x).astype(np.float64), np.concatenate(y).astype(np.float64), COLUMNS)


DATASET = DataSet(
    name="mnist_digits",
    title="MNIST",
    n_rows=TRAIN["mnist_digits"] + 10_000,
    n_inputs=SIDE * SIDE,
    columns=COLUMNS,
    target="digit",
    unit="",
    licence="commonly CC BY-SA 3.0",
    doi="",
    raw=(
        idx("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9.9),
        idx("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 0.03),
        idx("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1.7),
        idx("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 0.005),
    ),
    folder="mnist",
    parse=parse,
    x_bounds=((0.0, 255.0),) * (SIDE * SIDE),
    extremes=(),  # a coding
    y_bounds=(0.0, 9.0),
    bounds_citation=(
        "description of the MNIST files (LeCun, Cortes & Burges): 'The labels values are 0 to 9', 'Pixel values are 0 "
        "to 255. 0 means background (white), 255 means foreground (black)'"
    ),
    n_splits=1,
    table_sha256="e6f57b5f1aaf3c3110d9510f040f2ce37f4f8859b3680c89d3bf479d4103aeff",
    task="classification",
    labels=tuple(str(d) for d in range(CLASSES)),
)
