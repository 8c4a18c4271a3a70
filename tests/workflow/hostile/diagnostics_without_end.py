"""failed: diagnostics that never end."""

import dataclasses
import itertools
from collections.abc import Mapping

from methods.baselines.predict_mean import PredictMean


class Endless(Mapping):
    def __iter__(self):
        return map(str, itertools.count())

    def __len__(self):
        return 1

    def __getitem__(self, key):
        return 1.0


class Hostile(PredictMean):
    name = title = "diagnostics_without_end"

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        return dataclasses.replace(fit, diagnostics=Endless())
