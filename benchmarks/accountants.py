"""Epsilon and CPU seconds of each accountant for the same DP-SGD, in one run on one core.

    python -m benchmarks.accountants

A run has Poisson sampling at ``rate``, Gaussian noise and a number of steps, at delta = 1e-5. ``above`` is the excess
of epsilon over the lower end of prv-accountant's interval. No valid accountant can be below that end.

Another run loads the libraries first. Each time is that of a first call, because later calls with the same events are
looked up. Work that two accountants share counts for the first of them.
"""

from __future__ import annotations

import time

import pandas as pd

from privacy.accountants import NAMES, epsilon_of, prv_interval
from privacy.ledger import Event, Ledger, Mechanism, Relation, Sampling

DELTA = 1e-5
#: name -> (rate, noise multiplier, steps)
RUNS = {"1,000 batches of 1 %": (0.01, 2.0, 1000), "400 batches of 10 %": (0.1, 5.0, 400)}


def ledger(rate: float, noise_multiplier: float, steps: int) -> Ledger:
    return Ledger(
        [
            Event(
                what="sum of clipped gradients",
                mechanism=Mechanism.GAUSSIAN,
                relation=Relation.ADD_REMOVE,
                sensitivity=1.0,
                noise_scale=noise_multiplier,
                sampling=Sampling.POISSON,
                sampling_rate=rate,
                steps=steps,
            )
        ]
    )


def measure() -> pd.DataFrame:
    """One row per run and accountant that covers it."""
    epsilon_of(ledger(0.02, 3.0, 10), DELTA, NAMES)
    rows = []
    for name, run in RUNS.items():
        spent = ledger(*run)
        least, _, _ = prv_interval(spent, DELTA)
        for accountant in NAMES:
            start = time.process_time()
            found = epsilon_of(spent, DELTA, (accountant,)).all[accountant]
            seconds = time.process_time() - start
            if not isinstance(found, str):
                above = found / least - 1
                rows.append(
                    {"run": name, "accountant": accountant, "epsilon": found, "above": above, "seconds": seconds}
                )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    print(measure().to_string(index=False, float_format=lambda v: f"{v:.4g}"))
