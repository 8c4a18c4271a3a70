"""failed: leaves answers about other splits where answers are due."""

import pathlib
import tempfile
import time

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "forges_answers"

    def fit(self, task, settings, budget, rng):
        scratch = pathlib.Path(tempfile.gettempdir()).parent
        for k in range(20):
            (scratch / f"answer{k}").write_text('[["ridge", 0, {"status": "ok"}]]')
        time.sleep(60)
