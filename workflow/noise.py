"""Whether the noise of a run is public or secret.

public: every random number follows from the seed of its cell, so that a run can be repeated bit for bit. An epsilon
then protects nobody, because everybody can compute the noise. secret: entropy of the operating system is mixed into all
streams of every fit that claims a guarantee (noise, batches and posterior draws), and into all streams of a paper's own
code (``workflow.program.stream``). Such a run cannot be repeated, restored or committed.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

import numpy as np

PUBLIC, SECRET = CHOICES = ("public", "secret")
#: the variable by which rules pass the choice to processes that fit
VARIABLE = "DPBAYES_NOISE"


def of_run() -> str:
    """The choice of this run. Raises ValueError for another word."""
    word = os.environ.get(VARIABLE, PUBLIC)
    if word not in CHOICES:
        raise ValueError(f"{VARIABLE} is '{word}'; choose {' or '.join(CHOICES)}")
    return word


def generator(cell, split: int, role: str) -> np.random.Generator:
    """The stream of one split for ``role`` ("noise" or "fit"; see ``Cell.seed``)."""
    seed = cell.seed(split, role)
    return np.random.default_rng(mixed(seed) if cell.adapter().privacy is not None else seed)


def mixed(seed: Sequence[int]) -> Sequence[int]:
    """The seed of a stream. With secret noise, 128 bits of the operating system are appended."""
    return [*seed, secrets.randbits(128)] if of_run() == SECRET else seed
