"""failed: says that the machine is to blame for certain."""

from methods.baselines.predict_mean import PredictMean
from workflow.faults import MachineFault


class Hostile(PredictMean):
    name = title = "claims_a_fault"

    def fit(self, task, settings, budget, rng):
        raise MachineFault("no machine", certain=True)
