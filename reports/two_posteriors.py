"""A limit of this suite's epsilons: two stored posteriors of one split reveal the private sums, digit by digit.

Seeds are public, and settings of one method share their random numbers on purpose. So two posteriors at two budgets
contain the same standard normals at two scales, which both ledgers state. These are two equations in two unknowns. This
is shown for the corrected DP-SEP of linear regression, on synthetic rows that no budget clips.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from reports.blocks import Block, Table, entry

N, D = 200, 3
#: the two budgets, at delta 1e-5
BUDGETS = (1.0, 8.0)


def rows(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """x (n, D) and y (n,) well inside their documented ranges, so that no budget clips a row."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-0.3, 0.3, (n, D))
    return x, np.clip(x @ [0.5, -0.4, 0.2] + 0.05 * rng.standard_normal(n), -0.4, 0.4)


def stored(x: np.ndarray, y: np.ndarray, epsilon: float, seed: int = 11):
    """The content of the files of one fit: its posterior, and the noise scale that its ledger states.

    The seed is the same for every budget, as for the cells of a run.
    """
    from methods import contract
    from models.bounded import BoundedLinearRegression
    from models.task import PublicKnowledge, Task
    from privacy.budget import BudgetSpec

    method = contract.get("sufficient_statistics_perturbation", "bounded_linear_regression")
    public = PublicKnowledge(N, ((-1.0, 1.0),) * D, (-1.0, 1.0), "documented")
    task = Task("made up", BoundedLinearRegression(), x, y, public)
    budget = BudgetSpec(epsilon=epsilon, delta=1e-5, mode="enforce").open(np.random.default_rng(seed))
    fit = method.fit(task, method.Settings(), budget, np.random.default_rng(seed + 1))
    (event,) = fit.ledger.events
    return fit.posterior.posterior, event.noise_scale


def noisy_products(posterior) -> np.ndarray:
    """(X, 1)'y plus its noise, (D + 1,), computed from a stored posterior as its precision matrix times its mean."""
    return posterior.factor @ (posterior.factor.T @ posterior.mean)


def reconstructed(x: np.ndarray, y: np.ndarray, seeds: tuple[int, int] = (11, 11)) -> np.ndarray:
    """(X, 1)'y, (D + 1,), only from two stored posteriors and their ledgers. It is right if the seeds agree."""
    (one, small), (two, large) = (stored(x, y, e, s) for e, s in zip(BUDGETS, seeds, strict=True))
    return (small * noisy_products(two) - large * noisy_products(one)) / (small - large)


def exact(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The exact (X, 1)'y, (D + 1,)."""
    return np.append(x, np.ones((len(x), 1)), axis=1).T @ y


def table() -> tuple[Table, pd.DataFrame]:
    """The private sums, what one file and what two files reveal of them, and the same for a removed row."""
    x, y = rows()
    posterior, scale = stored(x, y, BUDGETS[0])
    of_all, of_rest = reconstructed(x, y), reconstructed(x[:-1], y[:-1])
    names = [*(f"sum of column {j + 1} times the target" for j in range(D)), "sum of the targets"]
    frame = pd.DataFrame({
        "number": names, "private": exact(x, y), "one_file": noisy_products(posterior), "two_files": of_all,
        "removed_row": np.append(x[-1], 1.0) * y[-1], "two_files_of_each_neighbour": of_all - of_rest,
    })  # fmt: skip
    heads = ["private", "one file", "two files", "the removed row", "two files of each neighbour"]
    digits = [(f"{r[1]:.10f}", f"{r[2]:.3f}", f"{r[3]:.10f}", f"{r[4]:.10f}", f"{r[5]:.10f}") for r in frame.values]
    lines = [(name, [entry(d) for d in of]) for name, of in zip(names, digits, strict=True)]
    notes = (
        f"The posteriors are those of the corrected DP-SEP on {N} synthetic rows of linear regression, at epsilon "
        f"{BUDGETS[0]:g} and {BUDGETS[1]:g} on one split, as they are stored. One file shows a sum behind its noise, "
        f"of standard deviation {scale:.3g}. Two files hold one noise vector at two scales. Their ledgers state the "
        "scales, so the noise cancels.",
        "A run with noise=secret mixes entropy of the operating system into the streams of every private fit. Its "
        "files have no such equations, and cannot become reference.",
    )
    return Table(
        "two_posteriors", "An epsilon is of one fit", "Synthetic rows", [Block("", "", heads, lines)], notes
    ), frame
