"""A figure of a page, and the interval that figures draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import t as student

from evaluation.paired import RATIO_90_10
from reports.verdict import AGREE


@dataclass(frozen=True)
class Figure:
    """A figure as the page shows it: files ``figures/<name>.{svg,csv}``."""

    name: str
    title: str
    caption: str


def half_width(std: float, n: float, ratio: float = RATIO_90_10) -> float:
    """Half of the 95 % interval of a mean over ``n`` overlapping splits with n_test / n_train = ratio; NaN if n < 2."""
    if not n >= 2 or not math.isfinite(std):
        return math.nan
    return float(student.ppf(1 - AGREE / 2, n - 1)) * std * math.sqrt(1 / n + ratio)
