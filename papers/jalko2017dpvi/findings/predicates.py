"""The titles of these findings, as functions of the committed numbers."""

import numpy as np
import pandas as pd


def two_codings_fit(codings: pd.DataFrame) -> bool:
    """The two codings that fit have z of the expected size, and modes nearest to the published 5284 rows."""
    fits = codings["coding"].isin(["alphabet", "appearance"])
    off = (codings["mode_right"] - 5284).abs()
    z = codings["mean_square_z"] / float(codings["expected"].iloc[0])
    return bool(
        (off[fits] < 20).all() and (off[~fits] > 100).all() and (z[fits] < 1.5).all() and z[fits].gt(0).all()
        and not (z[~fits] < 3).any()
    )  # fmt: skip


def delta_above_one_over_n(tables: pd.DataFrame) -> bool:
    """At delta = 1e-3, above 1/n, some row is more likely published than not; at 1e-5 it is not."""
    delta = tables["delta"].astype(float)
    above = delta > tables["one_over_n"]
    return bool((above == (delta == 1e-3)).all() and ((tables["some_row_published"] > 0.5) == above).all())


def only_direction_counts(fits: pd.DataFrame) -> bool:
    """Another length or spread of the posterior changes no predicted label, but the log-likelihood by over 0.1 nats."""
    moved = fits[["rows_moved_longer", "rows_moved_shorter"]].to_numpy().sum()
    return moved == 0 and bool((fits["log_likelihood"] - fits["log_likelihood_longer"] > 0.1).all())


def clipped_sgld_within_a_point(runs: pd.DataFrame, dpvi: pd.DataFrame) -> bool:
    """The authors' chain has no finite epsilon. A clipped one is within .01 of DPVI at equal epsilon, delta = 1e-3."""
    program = runs["variant"] == "program"
    fair = runs[(runs["variant"] == "sound, clip by budget") & (runs["delta"] == "0.001")]
    of_dpvi = dict(zip(dpvi["sigma"].astype(float), dpvi["accuracy"], strict=True))
    near = [abs(a - of_dpvi[float(s)]) < 0.01 for a, s in zip(fair["accuracy"], fair["sigma"], strict=True)]
    return bool(np.isposinf(runs.loc[program, "ledger_epsilon"]).all() and near and all(near))


def reproduced_and_unmoved(cells: pd.DataFrame, joint: pd.DataFrame) -> bool:
    """The authors' code reproduces nine in ten accuracies per table of data, and Poisson batches change none by 0.01.

    The joint test finds no difference from the published accuracies, of which some are not reproduced.
    """
    authors = cells[cells["reading"] == "authors"]
    shares = (authors["verdict"] == "reproduced").groupby(authors["dataset"]).mean()
    both = cells[cells["published_std"] != ""].set_index(["table", "dataset", "method", "setting", "reading"])
    mean, variance = both["mean"].unstack(), (both["std"] ** 2 / both["n"]).unstack()
    end = (mean["corrected"] - mean["authors"]).abs() + 1.96 * (variance["corrected"] + variance["authors"]) ** 0.5
    whole = joint[joint["table"] == "all"]
    return bool(
        len(shares) == 2
        and 0.9 < shares.min() < 1
        and end.dropna().max() < 0.01
        and (whole["p"] > 0.05).all()
        and (whole["mean_square_z"] < 1.3).all()
    )


def four_epsilons(rules: pd.DataFrame) -> bool:
    """Advanced composition gives the largest epsilon, and no two of the four rules agree, in any of the fits."""
    values = rules.drop(columns="sigma").to_numpy(dtype=float)
    differ = all(len(set(row)) == 4 for row in values.tolist())
    return bool(
        (values[:, 0] > 1.5 * values[:, 1:].max(axis=1)).sum() == len(values) == 10 and differ and (values > 0).all()
    )


def less_at_the_large_delta(epsilons: pd.DataFrame, printed: pd.DataFrame) -> bool:
    """At delta = 1e-3 the bound is below all 30 printed epsilons; at 1e-5 the realised epsilon exceeds four of them."""
    keys = ["dataset", "sigma", "kappa", "T"]
    told = printed[printed["printed"] != ""].set_index(keys)["printed"].astype(float)
    kind = epsilons["rule"].str.rsplit(": ", n=1).str[1]
    bound = epsilons[(kind == "bound") & (epsilons["delta"] == "0.001")].set_index(keys)["epsilon"]
    realised = epsilons[(kind == "realised") & (epsilons["delta"] == "1e-05")].set_index(keys)["epsilon"]
    return bool(
        (bound[told.index] < told).all()
        and (bound > 0).all()
        and len(told) == 30
        and (realised[told.index] > told).sum() == 4
    )
