"""ok: leaves files of its own among those of the run."""

import tempfile
from pathlib import Path

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "writes_into_the_results"

    def fit(self, task, settings, budget, rng):
        results = next(p for p in Path(tempfile.gettempdir()).parents if p.name == "partial").parent
        for name in ("fits/rubbish.json", "draws/rubbish.npz", "partial/rubbish.jsonl", "scores/rubbish.csv.sha256"):
            (results / name).parent.mkdir(parents=True, exist_ok=True)
            (results / name).write_bytes(b"\x80rubbish")
        return super().fit(task, settings, budget, rng)
