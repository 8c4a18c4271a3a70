"""failed: an error whose text a spreadsheet would run."""

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "text_is_a_formula"

    def fit(self, task, settings, budget, rng):
        raise ValueError("=cmd|' /C calc'!A1,\"\n</script>")
