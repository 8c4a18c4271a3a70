"""All fits of one score file.

A score row of the simulated half has 50 folds of one setting.

* ``authors``: it is not known which of three streams gave the 5,000 posterior draws of a fit
  (:mod:`papers.honkela2018robust.streams`). So each fold has three scores.
* ``printed``: each fold has the score of the posterior mean, if every fold has a posterior.
* ``corrected``: a run is a mean over the folds with new noise.

Columns: table, dataset, method, reading, setting, metric, scale, repeats, status, reason, mean, std, delta,
ledger_epsilon, ledger, parts, streams, runs.

* ``std``: over folds for ``authors`` and ``printed``, as a mean over the streams; over runs for ``corrected``.
* ``ledger_epsilon``, ``ledger``: of one fit.
* ``parts``, ``streams``: shape of ``runs``, the number of folds or fits and of scores for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from datasets.base import DataError
from papers.honkela2018robust import advi, data, posterior, published, release, search, streams
from papers.honkela2018robust.data import Fold, Moments
from privacy.budget import BudgetSpec
from privacy.ledger import Ledger
from workflow import environment, program

#: the settings in ``program.yaml``.
config = partial(program.config, Path(__file__).parent)
TABLES = ("synth_A", "synth_B")
#: reason given for the published fits in a run with secret noise
NO_SECRET = "the noise of this fit is that of the source's seeds, which are public; the run asks for secret noise"
#: fields of each release in the column ``ledger``
FACTS = ("what", "mechanism", "relation", "sensitivity", "noise_multiplier", "proof")
COLUMNS = (
    *("table", "dataset", "method", "reading", "setting", "metric", "scale", "repeats", "status", "reason"),
    *("mean", "std", "delta", "ledger_epsilon", "ledger", "parts", "streams", "runs"),
)


def multiples_of(method: str, setting: str) -> tuple[float, float] | None:
    """The clipping multiples of a fit, or None without clipping."""
    told = published.fields(setting)
    return None if method == "lr" or not told["n"] else published.multiples_of()[told["epsilon"], int(told["n"])]


def moments_of(fold: Fold, method: str, setting: str, rng: np.random.RandomState) -> tuple[Moments, Ledger | None]:
    """The moments that a fit of the authors' code reads, and its ledger. The fold's ``rng`` draws the noise."""
    told = published.fields(setting)
    found = release.as_published(fold, int(told["n"]), multiples_of(method, setting))
    if method != "rplr" or not told["n"]:
        return found.private + found.public, None
    budget = BudgetSpec(claimed_epsilon=told["epsilon"]).open(rng)
    return release.published_release(found, told["epsilon"], budget), budget.ledger


@lru_cache(maxsize=2)
def randomness(noise: bool, folds: int = data.FOLDS) -> tuple[np.ndarray, np.ndarray]:
    """The optimiser's normals (updates, folds, d + 2) and the means of the posterior draws (folds, streams, d).

    ``noise``: whether they follow the 66 Laplace numbers of a private fit, which are the same in every setting.
    """
    states = []
    for index in range(folds):
        rng = streams.fold_generator(index)
        rng.permutation(data.ROWS)
        if noise:
            rng.laplace(size=release.size(data.INPUTS))
        states.append(streams.seeds(rng))
    optimiser, draws = zip(*states, strict=True)
    z = streams.Normals(optimiser, data.INPUTS + 2).draw(advi.STEPS - 1).transpose(0, 2, 1)
    return np.ascontiguousarray(z), streams.draw_means(draws, data.INPUTS, advi.STEPS)


def scores(folds: Sequence[Fold], moments: Sequence[Moments], drawn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Rank correlations (folds, streams) of the authors' fits on the test rows. ``drawn``: of :func:`randomness`."""
    z, means = drawn
    at = [f.index for f in folds]
    u, w = advi.stopped(advi.Batch.of(moments), z[:, at])
    b = u[:, None, : data.INPUTS] + np.exp(w)[:, None, : data.INPUTS] * means[at]
    return np.stack([data.spearman(own @ f.test.T, f.y_test) for own, f in zip(b, folds, strict=True)])


def corrected_runs(folds: Sequence[Fold], setting: str, count: int) -> tuple[np.ndarray, Ledger]:
    """``count`` means over the folds (count,), each fit with its own noise, and the ledger of one fit."""
    told, ledger = published.fields(setting), None
    epsilon, omega = told["epsilon"], published.multiples_of()[told["epsilon"], int(told["n"])]
    total = np.zeros(count)
    for fold in folds:
        found = release.corrected(fold, int(told["n"]), omega)
        for k in range(count):
            rng = program.stream("honkela2018robust", setting, str(fold.index), str(k))
            budget = BudgetSpec(epsilon=epsilon, claimed_epsilon=epsilon).open(rng)
            released = release.corrected_release(found, epsilon, budget)
            b = release.linear_bayes(released, found.bounds, omega[0], epsilon)
            total[k] += data.spearman(b @ release.unit(fold.x_test).T, fold.y_test)
            ledger = ledger or budget.ledger
    return total / len(folds), ledger


def spent(ledger: Ledger, delta: float) -> float:
    from privacy.accountants import epsilon_of

    return epsilon_of(ledger, delta).epsilon


def numbers(values: np.ndarray) -> dict[str, object]:
    """The columns of scores by part and stream (parts, streams)."""
    return {
        "mean": repr(float(values.mean())),
        "std": repr(float(values.std(axis=0, ddof=1).mean())) if len(values) > 1 else "",
        "parts": values.shape[0],
        "streams": values.shape[1],
        "runs": " ".join(f"{v:.12g}" for v in values.ravel()),
    }


def cell_of(folds: Sequence[Fold], row: dict, fits: dict) -> dict:
    """The scores of one published number. ``fits``: earlier fits by their inputs, which are reused."""
    method, setting, reading = row["method"], row["setting"], row["reading"]
    delta = float(config()["delta"])
    if reading != "corrected" and method == "rplr" and environment.noise_of_run() == environment.SECRET:
        return {"status": "not_supported", "reason": NO_SECRET}
    if reading == "corrected":
        runs, ledger = corrected_runs(folds, setting, int(row["repeats"]))
        return {"mean": repr(float(runs.mean())), "std": repr(float(runs.std(ddof=1))), "parts": len(runs),
                "streams": 1, "runs": " ".join(f"{v:.12g}" for v in runs), "delta": config()["delta"],
                "ledger_epsilon": f"{spent(ledger, delta):.6g}", "ledger": program.facts(ledger, FACTS)}  # fmt: skip
    made = [moments_of(f, method, setting, f.generator()) for f in folds]
    moments, ledger, told = [m for m, _ in made], made[0][1], {}
    if ledger is not None:
        told = {"delta": config()["delta"], "ledger_epsilon": f"{spent(ledger, delta):.6g}",
                "ledger": program.facts(ledger, FACTS)}  # fmt: skip
    if reading == "printed":
        why = [posterior.obstacle(m) for m in moments]
        if any(why):
            reasons = "; ".join(f"a {w} in {why.count(w)}" for w in dict.fromkeys(filter(None, why)))
            text = f"the posterior does not exist in {sum(map(bool, why))} of {len(why)} folds: {reasons}"
            return told | {"status": "not_supported", "reason": text}
        each = [data.spearman(posterior.exact(m).b @ f.test.T, f.y_test) for m, f in zip(moments, folds, strict=True)]
        return told | numbers(np.array(each)[:, None])
    # A fit without clipping depends only on n, and one without private rows on nothing.
    n = published.private_rows(setting)
    key = (ledger is not None, n, multiples_of(method, setting), setting if ledger is not None else "")
    if key not in fits:
        fits[key] = scores(folds, moments, randomness(ledger is not None))
    return told | numbers(fits[key])


def rows(
    name: str, scale: str, mirror: str | None, raw: str | Path, wanted: Callable[[dict], bool] | None = None
) -> Iterator[dict]:
    """Score rows of one file, or those that are ``wanted``. If the table is not available, each has the reason."""
    cells = [c for c in published.numbers().to_dict("records") if c["table"] in FILES[name]]
    todo = []
    for cell in cells:
        for reading in readings_of(cell):
            row = dict.fromkeys(COLUMNS, "") | {k: cell[k] for k in ("table", "dataset", "method", "setting", "metric")}
            row |= {"reading": reading, "scale": scale, "status": "ok"}
            row["repeats"] = config()["repeats"][scale] if reading == "corrected" else 1
            if wanted is None or wanted(row):
                todo.append(row)
    if name in TABLES:
        yield from _cells(todo, mirror, raw)
    else:
        yield from (row | (_split(row) if name == published.SPLITS else _multiple(row)) for row in todo)


def _cells(todo: list[dict], mirror: str | None, raw: str | Path) -> Iterator[dict]:
    if not todo:
        return
    try:
        folds = data.folds(data.load(mirror, raw))
    except DataError as error:
        yield from (row | {"status": "no_data", "reason": str(error)} for row in todo)
        return
    fits: dict = {}
    for row in todo:
        yield row | cell_of(folds, row, fits)


def _split(row: dict) -> dict:
    """The split of the grid that the row prints with two decimals."""
    told = published.fields(row["setting"])
    (split,) = [s for s in search.splits() if all(math.isclose(s[i], told[k]) for i, k in enumerate(("p1", "p2")))]
    return numbers(search.split_scores(split)[1])


def _multiple(row: dict) -> dict:
    told = published.fields(row["setting"])
    pair = search.multiples(int(told["n"]), data.INPUTS, told["epsilon"])
    return numbers(np.array([[pair[("omega_x", "omega_y").index(row["method"])]]]))


def readings_of(cell: dict) -> list[str]:
    """Readings of a published number of the simulated half.

    The searches have one reading. Without private rows nothing is released, so there is no corrected reading.
    """
    if cell["table"] not in TABLES:
        return ["authors"]
    found = config()["readings"][cell["method"]]
    return found if published.private_rows(cell["setting"]) else [r for r in found if r != "corrected"]


#: score file -> its tables.
FILES = {t: (t,) for t in TABLES} | {"multiples": tuple(published.MULTIPLES), published.SPLITS: (published.SPLITS,)}
