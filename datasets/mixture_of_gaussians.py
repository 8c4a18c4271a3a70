"""Mixture of Gaussians as stated by Vinaroz & Park (2023, section 6.1), 200 independent data sets."""

from __future__ import annotations

import numpy as np

from datasets.base import DataSet, Table
from datasets.protocols.replicates import TEST, TRAIN

COMPONENTS, INPUTS, NOISE_SD = 4, 4, 0.5
REPLICATES = 200
COLUMNS = tuple(f"x{i}" for i in range(1, INPUTS + 1))


def observe(rng: np.random.Generator, means: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows (n, D) and labels (n,): a uniform label, then a row from N(mean of the label, NOISE_SD^2 I)."""
    labels = rng.integers(len(means), size=n)
    return means[labels] + NOISE_SD * rng.standard_normal((n, means.shape[1])), labels


def generate(rng: np.random.Generator) -> Table:
    """The printed distribution, in blocks of :mod:`datasets.protocols.replicates`.

        mu_j ~ N(m, I),  h_n uniform,  x_n ~ N(mu_h, 0.5^2 I)

    The paper gives m no value. Here m = 0. The target is the label, which no method sees.
    """
    parts = []
    for _ in range(REPLICATES):
        means = rng.standard_normal((COMPONENTS, INPUTS))
        parts.append(observe(rng, means, TRAIN + TEST))
    x, labels = (np.concatenate(p) for p in zip(*parts, strict=True))
    return Table(x, labels.astype(np.float64), COLUMNS)


DATASET = DataSet(
    name="mixture_of_gaussians",
    title="Mixture of Gaussians (as printed)",
    n_rows=REPLICATES * (TRAIN + TEST),
    n_inputs=INPUTS,
    columns=COLUMNS,
    target="component",
    unit="label",
    licence="made by this project",
    doi="",
    generate=generate,
    x_bounds=(None,) * INPUTS,
    n_splits=REPLICATES,
    table_sha256="82d8bc5d051bade547acb392d8798e63a5fdd1fd935baf8f55c52fcc0b8658e2",
    kind="simulated",
    task="density",
)
