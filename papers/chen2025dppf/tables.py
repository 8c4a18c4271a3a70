"""Small tables from scores, published runs and exact posteriors, for claims, findings and figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from papers.chen2025dppf import claims, published, releases, run, verdicts
from papers.chen2025dppf.published import CHAINS, FIXED, PARTICLES, fields
from privacy.accountants import epsilon_of
from reports.program import counts

#: titles of methods and tables. The tables are result files of the authors' code, and its tables in LaTeX.
METHODS = {
    "dp_pf": "Particle filter (DP-PF)",
    "dp_da_mcmc": "Data augmentation (DP-DA-MCMC)",
    "dp_reject_abc": "Rejection sampling (DP-Reject-ABC)",
    "pf_conj": "DP-PF, regression, conjugate prior",
    "pf_nonconj": "DP-PF, regression, heavy-tailed prior",
    "pf_fixed_conj": "DP-PF, synthetic release, conjugate prior",
    "pf_fixed_nonconj": "DP-PF, synthetic release, heavy-tailed prior",
    "pf_ls": "DP-PF, location-scale",
    "mcmc_conj": "DP-DA-MCMC, regression, conjugate prior",
    "mcmc_nonconj": "DP-DA-MCMC, regression, heavy-tailed prior",
    "rejection_lr": "DP-Reject-ABC, regression",
    "rejection_ls": "DP-Reject-ABC, location-scale",
    "real_data": "DP-PF, census of Victoria",
    "tab_conj": "Table in LaTeX, regression, conjugate prior",
    "tab_nonconj": "Table in LaTeX, regression, heavy-tailed prior",
    "tab_ls": "Table in LaTeX, location-scale",
}
#: the standard deviation of a normal distribution over its interquartile range.
OF_RANGE = 1 / 1.349
#: half width of a 95 % interval in standard errors, as in the authors' code.
HALF = 1.96


def build(scores: pd.DataFrame, checks: Path) -> dict[str, pd.DataFrame]:
    """Tables by file name, from all score rows and the folder of the checks."""
    judged, exact = verdicts.NUMBERS.verdicts(scores), Exact(pd.read_csv(checks / "posteriors.csv"))
    made = {
        "bias.csv": bias(exact),
        "intervals.csv": intervals(exact),
        "fixed.csv": fixed(),
        "particles.csv": particles(exact),
        "seeds.csv": seeds(exact),
        "rival.csv": rival(scores, exact),
    }
    return {
        "verdicts.csv.gz": judged,
        "counts.csv": counts(judged, ["reading", "table"], "table"),
        "ledger.csv": ledger(),
        **made,
        "claims.csv": claims.build({name.partition(".")[0]: frame for name, frame in made.items()}),
    }


class Exact:
    """The exact posteriors, by (prior, epsilon, n, seed, parameter)."""

    def __init__(self, frame: pd.DataFrame) -> None:
        own = frame[frame["dataset"] == "chen_lr"]
        keys = ["prior", "epsilon", "n", "seed", "parameter"]
        self._rows = {tuple(r[k] for k in keys): r for r in own.to_dict("records")}

    def of(self, setting: str, parameter: str, seed: int | None = None) -> dict[str, float]:
        """The exact posterior of a published setting. ``seed``: of the rows (default: that of the final tables)."""
        told = fields(setting)
        n = int(told["n"])
        seed = seed if seed is not None else 11029 if n == 400 else 1
        return self._rows[told["prior"], float(told["epsilon"]), n, seed, parameter]

    def centre(self, setting: str, parameter: str) -> tuple[float, float]:
        """Centre and spread of a posterior.

        They are mean and standard deviation for tau, else the median and the scaled interquartile range.

        The moments of the other parameters may not exist. The interquartile range is divided by 1.349.
        """
        row = self.of(setting, parameter)
        if parameter == "tau":
            return row["mean"], row["sd"]
        return row["q50"], (row["q75"] - row["q25"]) * OF_RANGE


def error_of(runs: np.ndarray) -> float:
    """Standard error of the mean of ``runs`` (n,)."""
    return float(runs.std(ddof=1) / len(runs) ** 0.5)


def ledger() -> pd.DataFrame:
    """The privacy cost of a release: claimed epsilon, sensitivity, noise scale, ledger's epsilon, and their ratio."""
    rows = []
    for dataset, sensitivity in releases.SENSITIVITY.items():
        for epsilon in sorted(set(published.releases().query("dataset == @dataset")["epsilon"])):
            spent = epsilon_of(releases.ledger_of(dataset, epsilon), run.DELTA).epsilon
            rows.append({"dataset": dataset, "reading": "authors", "claimed_epsilon": epsilon,
                         "sensitivity": sensitivity, "scale": releases.scale_of(dataset, epsilon),
                         "ledger_epsilon": spent, "ratio": spent / epsilon, "relation": "replace_one"})  # fmt: skip
    return pd.DataFrame(rows)


def settings_of(table: str) -> list[str]:
    cells = published.numbers()
    return list(dict.fromkeys(cells.loc[cells["table"] == table, "setting"]))


def bias(exact: Exact) -> pd.DataFrame:
    """Per regression setting: tau and beta1 of the filter and of DP-DA-MCMC, compared with the exact posterior.

    * ``tau_bias``: (mean over the published runs - exact mean) / exact standard deviation. beta1 uses
      :meth:`Exact.centre`.
    * ``tau_z``: the same difference for the filter, over its standard error.
    """
    rows = []
    for filtered, chain in zip(PARTICLES, CHAINS, strict=True):
        for setting in settings_of(filtered):
            told = fields(setting)
            other = setting.replace("N=100;", "")
            row = {k: told[k] for k in ("prior", "epsilon", "n")}
            for parameter in ("tau", "beta1"):
                centre, sd = exact.centre(setting, parameter)
                runs = published.runs_of(filtered, setting, f"{parameter}_mean")
                pf = runs.mean()
                da = published.runs_of(chain, other, f"{parameter}_mean").mean()
                row |= {f"{parameter}_exact": centre, f"{parameter}_exact_sd": sd, f"{parameter}_dp_pf": pf,
                        f"{parameter}_dp_da_mcmc": da, f"{parameter}_bias": (pf - centre) / sd,
                        f"{parameter}_bias_rival": (da - centre) / sd}  # fmt: skip
                if parameter == "tau":
                    row["tau_z"] = (pf - centre) / np.hypot(error_of(runs), exact.of(setting, "tau")["mean_error"])
            rows.append(row)
    return pd.DataFrame(rows)


def intervals(exact: Exact) -> pd.DataFrame:
    """Coverage by setting and parameter: share of the published runs whose Monte Carlo interval holds the exact mean.

    The interval is mean +- 1.96 sqrt(variance / ess).
    """
    rows = []
    for table in PARTICLES:
        for setting in settings_of(table):
            told = fields(setting)
            ess = published.runs_of(table, setting, "ess")
            for parameter in ("tau", "beta0", "beta1"):
                mean, var = (published.runs_of(table, setting, f"{parameter}_{w}") for w in ("mean", "var"))
                half = HALF * np.sqrt(np.maximum(var, 0.0) / ess)
                at = exact.of(setting, parameter)["mean"]
                share = float((abs(mean - at) <= half).mean())
                rows.append({k: told[k] for k in ("prior", "epsilon", "n")}
                            | {"parameter": parameter, "runs": len(ess), "share": share})  # fmt: skip
    return pd.DataFrame(rows)


def fixed() -> pd.DataFrame:
    """Published coverage of the same interval on the synthetic release, by prior, epsilon, particles and parameter."""
    cells = published.numbers()
    rows = []
    for cell in cells[cells["table"].isin(FIXED) & cells["metric"].str.endswith("_mc_cover")].to_dict("records"):
        told = fields(cell["setting"])
        rows.append({k: told[k] for k in ("prior", "epsilon", "N")}
                    | {"parameter": cell["metric"].partition("_")[0], "share": float(cell["mean"])})  # fmt: skip
    return pd.DataFrame(rows)


def history() -> pd.DataFrame:
    return pd.read_csv(published.HERE / "history.csv", dtype={"setting": str})


def particles(exact: Exact) -> pd.DataFrame:
    """Bias of tau in exact standard deviations, per prior and number of particles, by the earlier commit's runs.

    Columns are its median, smallest and largest value over the settings, and how many settings are below the exact
    mean. At n = 400, the release of that commit was a different one.
    """
    found = history()
    found = found[found["table"].isin(PARTICLES) & (found["metric"] == "tau_mean")]
    rows: dict[tuple[str, int], list[float]] = {}
    for r in found.to_dict("records"):
        told = fields(r["setting"].removesuffix(";seed=1"))
        n = int(told["n"])
        plain = f"epsilon={told['epsilon']};n={n};N=100;prior={told['prior']}"
        of = exact.of(plain, "tau", 1)
        rows.setdefault((told["prior"], int(told["N"])), []).append((r["mean"] - of["mean"]) / of["sd"])
    return pd.DataFrame(
        [{"prior": p, "particles": c, "settings": len(v), "median_bias": np.median(v), "least": min(v),
          "largest": max(v), "below": sum(x < 0 for x in v)} for (p, c), v in sorted(rows.items())]
    )  # fmt: skip


def seeds(exact: Exact) -> pd.DataFrame:
    """beta1 at n = 400 for both seeds of the data: the filter's published mean with its error, and the exact median."""
    old, rows = history(), []
    old = old[(old["metric"] == "beta1_mean") & old["table"].isin(PARTICLES)].set_index(["table", "setting"])
    for table in PARTICLES:
        for setting in settings_of(table):
            told = fields(setting)
            if told["n"] != "400":
                continue
            then, now = old.loc[(table, setting)], published.runs_of(table, setting, "beta1_mean")
            rows.append({"prior": told["prior"], "epsilon": told["epsilon"], "dp_pf_seed_1": float(then["mean"]),
                         "runs_seed_1": int(then["n_runs"]), "error_seed_1": then["std"] / then["n_runs"] ** 0.5,
                         "dp_pf_seed_11029": now.mean(), "error_seed_11029": error_of(now),
                         "exact_seed_1": exact.of(setting, "beta1", 1)["q50"],
                         "exact_seed_11029": exact.of(setting, "beta1")["q50"]})  # fmt: skip
    return pd.DataFrame(rows)


def rival(scores: pd.DataFrame, exact: Exact) -> pd.DataFrame:
    """Runs of DP-DA-MCMC compared with the exact posterior means of the releases with a second noise.

    There is one row per setting and parameter. Standard deviations over runs are those of the published means, of the
    exact means, and of their difference.

    * ``correlation``: of published and exact means, over runs.
    * ``published_sd_of_all``: of all published runs, also those without an exact mean here.
    * ``filter_sd``: of the particle filter's runs at this setting.
    * ``once_``: our chains on the release itself, and the exact posterior of that release, with the priors of the
      chain.
    * ``once_z``: difference of these means in its standard errors.
    """
    rows, corrected = [], scores[scores["table"].isin(CHAINS) & (scores["reading"] == "corrected")]
    once = {(r["setting"], r["metric"]): verdicts.values_of(r) for r in corrected.to_dict("records")}
    for r in scores[scores["kind"] == "run by run"].to_dict("records"):
        ours = verdicts.values_of(r)
        every = published.runs_of(r["table"], r["setting"], r["metric"])
        theirs = every[: len(ours)]
        told, parameter = fields(r["setting"]), r["metric"].removesuffix("_mean")
        filtered = PARTICLES[CHAINS.index(r["table"])]
        own = f"epsilon={told['epsilon']};n={told['n']};N=100;prior={told['prior']}"
        known = published.runs_by_key().get((filtered, own, r["metric"]), pd.Series(dtype=float)).dropna()
        z = (ours - theirs) / np.array(r["errors"].split(), dtype=float)
        chain = once[r["setting"], r["metric"]]
        at = exact.of(r["setting"].replace("heavy", "independent"), parameter)
        error = np.hypot(error_of(chain), at["mean_error"])
        rows.append(
            {"prior": told["prior"], "epsilon": told["epsilon"], "n": told["n"], "parameter": parameter,
             "runs": len(ours), "correlation": np.corrcoef(ours, theirs)[0, 1], "published_sd": theirs.std(ddof=1),
             "published_sd_of_all": every.std(ddof=1),
             "exact_sd": ours.std(ddof=1), "difference_sd": (ours - theirs).std(ddof=1), "z_sd": z.std(ddof=1),
             "filter_sd": known.std(ddof=1), "filter_runs": len(known),
             "published_mean": every.mean(), "once_runs": len(chain), "once_mean": chain.mean(),
             "once_sd": chain.std(ddof=1), "once_exact": at["mean"], "once_z": (chain.mean() - at["mean"]) / error}
        )  # fmt: skip
    return pd.DataFrame(rows)
