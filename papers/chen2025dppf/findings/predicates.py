"""What the titles of these findings say, as functions of the committed numbers."""

import pandas as pd


def noised_twice(runs: pd.DataFrame) -> bool:
    """At epsilon 1 and 2, the published runs move with the exact means of the releases noised twice in every setting.

    For mu the correlation is above 0.9. For every parameter it is above 0.28, the 5 % point for 50 unrelated runs.
    """
    far = runs[runs["epsilon"] >= 1]
    mu = far.loc[far["parameter"] == "mu", "correlation"]
    return bool(len(mu) and (far["correlation"] > 0.28).all() and (mu > 0.9).all())


def below(numbers: pd.DataFrame, variants: pd.DataFrame) -> bool:
    """The filter's tau is below the exact mean in every setting. With the Jacobian, tau no longer has the published
    distribution in any setting that was tried."""
    own = variants[variants["variant"] == "jacobian"]
    return bool((numbers["tau_bias"] < 0).all() and (own["tau_mean_p"] < 1e-3).all())


def recycled(variants: pd.DataFrame) -> bool:
    """With aligned weights the spread of beta1 over runs is smaller than published in every setting that was tried; as
    the code has it, no setting differs."""
    own = variants[variants["variant"] == "aligned"]
    same = variants[variants["variant"] == "authors' code"]
    return bool(
        (own["beta1_mean_sd"] < own["beta1_mean_published_sd"]).sum() >= len(own) - 1
        and (same["beta1_mean_p"] > 0.01).all()
    )


def covers_elsewhere(real: pd.DataFrame, synthetic: pd.DataFrame) -> bool:
    """Mean coverage by prior and parameter is below 75 % on the random releases, and below 25 % for tau. On the
    synthetic one, for beta, it is above 90 % at epsilon 0.5 and more."""
    of = real.groupby(["prior", "parameter"])["share"].mean()
    tight = synthetic[synthetic["epsilon"] >= 0.5]
    tau = of.xs("tau", level="parameter")
    return bool((of < 0.75).all() and (tau < 0.25).all() and tight["share"].mean() > 0.9)


def other_seed(estimates: pd.DataFrame) -> bool:
    """Both sets of results exist for every epsilon and prior, and the one of the final tables is nearer the truth of 2
    in every one."""
    near = (estimates["dp_pf_seed_11029"] - 2).abs() < (estimates["dp_pf_seed_1"] - 2).abs()
    return bool(len(estimates) == 8 and near.all())


def both_right(exact: pd.DataFrame) -> bool:
    """From epsilon 0.5 and 200 rows on, each method's published mean of mu is within 4 standard errors, and that of
    theta2 within 5 %, of the exact one with its own meaning of theta2."""
    own = exact[(exact["epsilon"] >= 0.5) & (exact["n"] >= 200)]
    errors = (own["published_mu_mean_error"] ** 2 + own["mu_mean_error"] ** 2) ** 0.5
    z = (own["published_mu_mean"] - own["mu_mean"]) / errors
    ratio = own["published_theta2_mean"] / own["theta2_mean"]
    return bool(len(own) and (z.abs() < 4).all() and ((ratio - 1).abs() < 0.05).all())
