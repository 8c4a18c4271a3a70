"""Whether the metrics of the common tasks distinguish an exact posterior from one twice too narrow or too wide.

    python -m workflow.extra common_tasks common_controls.csv

Data sets are simulated from prior and likelihood of ``models.bounded``, with rows uniform on [-1, 1]. So the exact
posterior covers the true parameter at every level. Its standard deviations are then multiplied by a factor.

Each row has a level and a factor. It gives the share of data sets whose true weight lies in the central interval, the
binomial interval of that share for a calibrated posterior, and whether the share is inside. One weight per data set is
used, so the weights are independent. The mean over data sets of the two distances to the exact posterior is given, too.
No data is needed.
"""

from __future__ import annotations

import numpy as np

from evaluation.intervals import LEVELS, binomial_band
from evaluation.posterior_distance import DRAWS, Moments, distance_scores, moments
from models.bounded import BoundedLinearRegression
from workflow.extra import Request, text_of

WIDTHS = (0.5, 1.0, 2.0)
SETS, ROWS, INPUTS = 1000, 200, 5
#: probability that a calibrated posterior lies outside at one level.
ALPHA = 0.01
COLUMNS = (
    *("width", "level", "share", "low", "high", "inside", "sets"),
    *("posterior_mean_error", "posterior_log_variance_ratio"),
)


def simulate(sets: int, rng: np.random.Generator) -> tuple[np.ndarray, list[Moments]]:
    """True weight (sets,), as its distance from the posterior mean in posterior sds, and moments of each posterior.

    The weight is that of input 0. Its posterior is Student-t. The two distribution functions map the distance to that
    of a normal distribution, so one interval serves all data sets.
    """
    from scipy.stats import norm, t

    model = BoundedLinearRegression().inner
    z, rows = np.empty(sets), []
    for i in range(sets):
        theta = model.sample_prior(1, rng, INPUTS)[0]
        x = rng.uniform(-1.0, 1.0, (ROWS, INPUTS))
        noise = np.sqrt(np.logaddexp(0.0, theta[-1])) * rng.standard_normal(ROWS)
        y = model.likelihood.design(x) @ theta[:-1] + noise
        q = model.exact_posterior(x, y)
        root = np.linalg.solve(q.factor, np.eye(INPUTS + 1)[0])
        scale = np.sqrt(q.scale / q.shape * (root @ root))
        z[i] = norm.ppf(t.cdf((theta[0] - q.mean[0]) / scale, 2 * q.shape))
        rows.append(moments(q.sample(DRAWS, rng)))
    return z, rows


def table(sets: int = SETS, seed: int = 0) -> list[dict]:
    """The rows of the table, with columns ``COLUMNS``."""
    from scipy.stats import norm

    z, exact = simulate(sets, np.random.default_rng(seed))
    out = []
    for width in WIDTHS:
        scores = [distance_scores(Moments(m.mean, width * m.sd), m) for m in exact]
        distances = {k: float(np.mean([s[k][0] for s in scores])) for k in scores[0]}
        for level in LEVELS:
            share = float(np.mean(np.abs(z) <= width * norm.ppf((1 + level) / 2)))
            low, high = binomial_band(level, sets, ALPHA)
            row = {"width": width, "level": level, "share": share, "low": low, "high": high}
            out.append(row | {"inside": int(low <= share <= high), "sets": sets, **distances})
    return out


def tables(request: Request) -> dict[str, str]:
    """``common_controls.csv``, as text."""
    return {"common_controls.csv": text_of(COLUMNS, ({k: f"{v:.6g}" for k, v in row.items()} for row in table(SETS)))}
