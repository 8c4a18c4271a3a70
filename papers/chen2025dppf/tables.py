"""Small tables from scores, published runs and exact posteriors: what claims, findings and figures read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from papers.chen2025dppf import claims, filters, published, releases, run, verdicts
from papers.chen2025dppf.published import CHAINS, FIXED, PARTICLES, fields
from privacy.accountants import epsilon_of
from reports.program import counts

#: how methods and tables are written; the tables are result files of the authors' code and its tables in LaTeX.
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
#: rows of a table, texts by column.
Rows = Sequence[Mapping[str, str]]
#: the standard deviation of a normal distribution over its interquartile range.
OF_RANGE = 1 / 1.349
#: half width of a 95 % interval in standard errors, as the authors' code has it.
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
    """The exact posteriors by (prior, epsilon, n, seed, parameter)."""

    def __init__(self, frame: pd.DataFrame) -> None:
        own = frame[frame["dataset"] == "chen_lr"]
        keys = ["prior", "epsilon", "n", "seed", "parameter"]
        self._rows = {tuple(r[k] for k in keys): r for r in own.to_dict("records")}

    def of(self, setting: str, parameter: str, seed: int | None = None) -> dict[str, float]:
        """The row of a published setting; ``seed``: of the rows that were released (default: of the final tables)."""
        told = fields(setting)
        n = int(told["n"])
        seed = seed if seed is not None else 11029 if n == 400 else 1
        return self._rows[told["prior"], float(told["epsilon"]), n, seed, parameter]

    def centre(self, setting: str, parameter: str) -> tuple[float, float]:
        """Mean and standard deviation of tau; of the other parameters, whose moments may not exist, the median and the
        interquartile range over 1.349."""
        row = self.of(setting, parameter)
        if parameter == "tau":
            return row["mean"], row["sd"]
        return row["q50"], (row["q75"] - row["q25"]) * OF_RANGE


def ledger() -> pd.DataFrame:
    """What a release costs: claimed epsilon, sensitivity, scale of the noise, epsilon by the ledger, and its ratio."""
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
    """Per regression setting: tau and beta1 of the filter and of its rival beside the exact posterior.

    ``tau_bias``: (mean over the published runs - exact mean) / exact standard deviation; beta1 by :meth:`Exact.centre`.
    """
    rows = []
    for filtered, chain in zip(PARTICLES, CHAINS, strict=True):
        for setting in settings_of(filtered):
            told = fields(setting)
            other = setting.replace("N=100;", "")
            row = {k: told[k] for k in ("prior", "epsilon", "n")}
            for parameter in ("tau", "beta1"):
                centre, sd = exact.centre(setting, parameter)
                pf = published.runs_of(filtered, setting, f"{parameter}_mean").mean()
                da = published.runs_of(chain, other, f"{parameter}_mean").mean()
                row |= {f"{parameter}_exact": centre, f"{parameter}_exact_sd": sd, f"{parameter}_dp_pf": pf,
                        f"{parameter}_dp_da_mcmc": da, f"{parameter}_bias": (pf - centre) / sd,
                        f"{parameter}_bias_rival": (da - centre) / sd}  # fmt: skip
            rows.append(row)
    return pd.DataFrame(rows)


def intervals(exact: Exact) -> pd.DataFrame:
    """Per setting and parameter: share of the published runs whose Monte Carlo interval, mean +- 1.96 sqrt(variance /
    ess), holds the exact posterior mean."""
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
    """Per prior and number of particles: bias of tau in exact standard deviations, by the earlier commit's runs.

    Median, least and largest over the settings, and how many settings are below the exact mean. At n = 400 the release
    of that commit was another one.
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
    """beta1 at n = 400 by the filter's published mean and by the exact median, for both seeds of the data."""
    old, rows = history(), []
    old = old[(old["metric"] == "beta1_mean") & old["table"].isin(PARTICLES)].set_index(["table", "setting"])
    for table in PARTICLES:
        for setting in settings_of(table):
            told = fields(setting)
            if told["n"] != "400":
                continue
            then = old.loc[(table, setting)]
            rows.append({"prior": told["prior"], "epsilon": told["epsilon"], "dp_pf_seed_1": float(then["mean"]),
                         "runs_seed_1": int(then["n_runs"]),
                         "dp_pf_seed_11029": published.runs_of(table, setting, "beta1_mean").mean(),
                         "exact_seed_1": exact.of(setting, "beta1", 1)["q50"],
                         "exact_seed_11029": exact.of(setting, "beta1")["q50"]})  # fmt: skip
    return pd.DataFrame(rows)


def rival(scores: pd.DataFrame, exact: Exact) -> pd.DataFrame:
    """Per setting and parameter of DP-DA-MCMC: its runs beside the exact posterior means of the releases with a second
    noise.

    ``correlation`` over runs; standard deviation over runs of the published means, of the exact means, and of their
    difference; ``published_sd_of_all``: of all published runs, also without an exact mean here; ``chain_sd``: what
    the chain adds by itself, the exact posterior's standard deviation over the root of the mean effective sample size;
    ``filter_sd``: that of the particle filter's runs at this setting. The exact
    posterior of the heavy prior is the one with dependent coefficients.
    """
    rows = []
    for r in scores[scores["kind"] == "run by run"].to_dict("records"):
        ours = verdicts.values_of(r)
        every = published.runs_of(r["table"], r["setting"], r["metric"])
        theirs = every[: len(ours)]
        told, parameter = fields(r["setting"]), r["metric"].removesuffix("_mean")
        ess = np.mean([published.runs_of(r["table"], r["setting"], f"beta{k}_ess").mean() for k in (0, 1)])
        filtered = PARTICLES[CHAINS.index(r["table"])]
        own = f"epsilon={told['epsilon']};n={told['n']};N=100;prior={told['prior']}"
        known = (filtered, own, r["metric"]) in published.runs_by_key()
        z = (ours - theirs) / np.array(r["errors"].split(), dtype=float)
        rows.append(
            {"prior": told["prior"], "epsilon": told["epsilon"], "n": told["n"], "parameter": parameter,
             "runs": len(ours), "correlation": np.corrcoef(ours, theirs)[0, 1], "published_sd": theirs.std(ddof=1),
             "published_sd_of_all": every.std(ddof=1),
             "exact_sd": ours.std(ddof=1), "difference_sd": (ours - theirs).std(ddof=1), "z_sd": z.std(ddof=1),
             "chain_sd": exact.centre(own, parameter)[1] / ess**0.5,
             "filter_sd": published.runs_of(filtered, own, r["metric"]).std(ddof=1) if known else np.nan}
        )  # fmt: skip
    return pd.DataFrame(rows)


#: rows of the settings that findings show.
SHOWN_ROWS = 300


def seeds_of_rows() -> tuple[int, tuple[int, int]]:
    """The seed of most regression releases of the final tables, and (rows, seed) of the one with another seed."""
    found = published.releases().query("dataset == 'chen_lr'")
    found = found[~found["used_by"].str.startswith("history")]
    seeds = found.drop_duplicates("n").set_index("n")["seed"].astype(int)
    common = int(seeds.mode().item())
    ((rows, seed),) = seeds[seeds != common].items()
    return common, (int(rows), int(seed))


#: tables that the texts of findings read.
READ = ("bias", "intervals", "fixed", "particles", "seeds", "rival", "faults", "ledger", "location_scale")


def evidence(
    bias: Rows,
    intervals: Rows,
    fixed: Rows,
    particles: Rows,
    seeds: Rows,
    rival: Rows,
    faults: Rows,
    ledger: Rows,
    location_scale: Rows,
) -> dict[str, object]:
    """The numbers of the findings, from the rows of the tables with these names.

    ``rivals``: per parameter at epsilon 2, n = 300, conjugate prior. ``below``: settings by prior in which the filter's
    tau is below the exact mean. ``variants``: rows of ``faults``. ``covers``: mean coverage by prior and parameter.
    """
    rivals = [r for r in rival if (r["prior"], float(r["epsilon"]), r["n"]) == ("conjugate", 2.0, str(SHOWN_ROWS))]
    spreads = [r for r in rival if r["parameter"] == "beta1"]
    shares: dict[tuple[str, str], list[float]] = {}
    for r in intervals:
        shares.setdefault((r["prior"], r["parameter"]), []).append(float(r["share"]))
    at = [float(r["share"]) for r in fixed if float(r["epsilon"]) >= 0.5]
    least = [float(r["share"]) for r in fixed if float(r["epsilon"]) < 0.5]
    common, other = seeds_of_rows()
    return {
        "count": filters.PARTICLES,
        "published_runs": published.runs_of("mcmc_conj", "epsilon=2;n=300;prior=conjugate", "tau_mean").size,
        "shown_rows": SHOWN_ROWS,
        "slope": f"{published.TRUTH['beta1']:g}",
        "common_seed": common,
        "other_rows": other[0],
        "other_seed": other[1],
        "rivals": [{k: r[k] if k in ("parameter", "runs") else f"{float(r[k]):.3f}" for k in
                    ("parameter", "runs", "correlation", "published_sd", "exact_sd", "difference_sd")} for r in rivals],
        "rival_runs": rival[0]["runs"],
        "rival_settings": len(spreads),
        "chain_smaller": sum(float(r["chain_sd"]) < float(r["filter_sd"]) for r in spreads),
        "filter_smaller": sum(float(r["filter_sd"]) < float(r["published_sd_of_all"]) for r in spreads),
        "below": sum(float(r["tau_bias"]) < 0 for r in bias),
        "settings": len(bias),
        "median_bias": {p: f"{np.median([-float(r['tau_bias']) for r in bias if r['prior'] == p]):.2f}"
                        for p in ("conjugate", "heavy")},
        "variants": [{k: v if k in ("prior", "variant", "n", "epsilon") else f"{float(v):.3g}" for k, v in r.items()}
                     for r in faults],
        "counts": [{"prior": r["prior"], "particles": r["particles"], "settings": r["settings"], "below": r["below"],
                    "bias": f"{float(r['median_bias']):.2f}"} for r in particles],
        "covers": [{"prior": prior, "parameter": p, "share": f"{100 * float(np.mean(v)):.0f}",
                    "least": f"{100 * min(v):.0f}", "largest": f"{100 * max(v):.0f}"}
                   for (prior, p), v in shares.items()],
        "fixed": {"mean": f"{float(np.mean(at)):.2f}", "least": f"{min(at):.2f}", "largest": f"{max(at):.2f}",
                  "small": f"{min(least):.2f}", "small_largest": f"{max(least):.2f}"},
        "seeds": [{k: v if k in ("prior", "epsilon", "runs_seed_1") else f"{float(v):.2f}" for k, v in r.items()}
                  for r in seeds],
        "ratio": f"{float(ledger[0]['ratio']):.2f}",
        "two_meanings": [
            {"epsilon": f"{float(r['epsilon']):g}", "title": METHODS[r["method"]], "theta2_is": r["theta2_is"],
             "published": f"{float(r['published_theta2_mean']):.3f}", "exact": f"{float(r['theta2_mean']):.3f}"}
            for r in location_scale if r["n"] == str(SHOWN_ROWS) and float(r["epsilon"]) >= 0.5],
    }  # fmt: skip
