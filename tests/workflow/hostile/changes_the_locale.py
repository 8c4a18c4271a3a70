"""ok: changes the language of its process, and how numbers are written."""

import locale
import sys
from contextlib import suppress

import numpy as np

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "changes_the_locale"

    def fit(self, task, settings, budget, rng):
        for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "C"):
            with suppress(locale.Error):
                locale.setlocale(locale.LC_ALL, name)
        np.set_printoptions(precision=1, threshold=1)
        sys.set_int_max_str_digits(640)
        return super().fit(task, settings, budget, rng)
