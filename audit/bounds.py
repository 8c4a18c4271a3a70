"""A lower bound on the epsilon of each private method, to compare with the epsilon of its ledger.

    python -m audit.bounds --out results/extra/lower_bounds.csv --kept results/audit

Each method is fitted ``RUNS`` times on each of two neighbours, on the first toy task of the audit that it fits, or on
that of ``CASE``. The neighbours are those whose releases differ most, relative to their noise. All releases of a fit
give one number, the log-likelihood ratio of the two data sets (``privacy.audit.bounds``). A threshold on it is chosen
on one half of the fits and judged on the other half. So each bound exceeds the true epsilon with probability .05 at
most.

The same is done under a budget that adds only 2/3 of the noise that it declares. The power is the share of bootstrap
resamples of these fits whose bound exceeds the ledger's epsilon. At delta 1e-5 the bound for any mechanism has almost
no power against Gaussian noise, so bound and ledger are also compared at a second delta. Batches are all rows, so no
bound says anything about sampling. A method that only fits networks, and slowly, is fitted once with canaries
(``privacy.audit.canaries``). For a method without a bound, the table has the reason.

No data are needed. A stopped command resumes, and only methods whose files changed are computed again.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from audit import cases, resume
from datasets.files import write_sealed
from methods import contract
from privacy import audit, mutants
from privacy.accountants import epsilon_of
from privacy.audit import bounds, canaries
from privacy.budget import BudgetSpec
from privacy.faults import FaultySpec, of
from privacy.ledger import Mechanism

#: fits per neighbour, and the CPU milliseconds of one fit above which a method is listed as slow
RUNS, MOST_MS = 10_000, 5
#: number of canaries in the single fit of a slow method that only fits networks
CANARIES = 200
#: method -> CPU milliseconds of a recorded fit on its first case. This list decides, not the time of a run.
SLOW = {"whitened_ssp": 6}
#: method -> its adapter and case, if the first is slower: EM's mixture 5 ms, a draw for unbounded inputs 13 ms
CASE = {
    method: (f"{kind}/{method}", kind)
    for method, kind in (
        ("dp_em_corrected", "bounded_linear_regression"),
        ("posterior_sampling_glm_direct", "bounded_logistic_regression"),
    )
}
CONFIDENCE = 0.95
#: a noise level at which thousands of fits distinguish the data sets (mu is about 1), but not without error
SPEC = BudgetSpec(epsilon=4.0, delta=cases.DELTA, noise_multiplier=1.0)
#: few steps, because each is charged, and batches of all rows of the toy tasks
SHORT = {"steps": 2, "epochs": 1, "sampling_rate": 1.0, "batch_size": 12, "batch_rows": 12}
WEAK = "two thirds of the noise"
#: a delta at which the bound for any mechanism has power. At 1e-5, epsilon depends on events too rare to be counted
WIDE = 0.01
COLUMNS = ["method", "kind", "case", "relation", "pair", "reached", "runs"]
COLUMNS += ["delta", "epsilon", "lower", "power", "lower_gdp", "power_gdp", "weak_lower", "weak_lower_gdp"]
COLUMNS += ["wide_delta", "wide_epsilon", "wide_lower", "wide_power", "weak_wide_lower", "false_alarm", "reason"]


def methods() -> dict[str, list[tuple[str, str]]]:
    """Private method -> its adapters and cases, in the order of the audit. There are none if it takes no toy task."""
    out: dict[str, list[tuple[str, str]]] = {n: [] for n in contract.names() if cases.get(n).privacy is not None}
    for name, case in (*cases.cases(), *cases.drawn()):
        if cases.NO_RANGES not in case:
            out.setdefault(cases.get(name).name, []).append((name, case))
    return out


def settings_of(method):
    """The method's settings for short fits with full batches."""
    settings = cases.tiny_settings(method)
    names = {f.name for f in dataclasses.fields(settings)}
    return dataclasses.replace(settings, **{k: v for k, v in SHORT.items() if k in names})


def spec_of(method) -> BudgetSpec:
    return cases.DRAW_SPEC if method.releases_a_draw else SPEC


def listed(method: str) -> list[tuple[str, str]]:
    """The adapters and cases of a method in the order in which they are tried."""
    found = methods()[method]
    return sorted(found, key=lambda case: case != CASE.get(method))


def chosen(method: str) -> tuple[tuple[str, str] | None, str]:
    """The first adapter and case of :func:`listed` that can be measured, or None and the reason."""
    if method in SLOW:
        # two neighbours, each replayed on the other, and everything again with weak noise
        needed = (2 if cases.get(listed(method)[0][0]).releases_a_draw else 8) * RUNS
        return None, f"one fit takes {SLOW[method]:g} ms, {needed:,} are needed, and the limit is {MOST_MS} ms"
    reasons = []
    for name, case in listed(method):
        adapter = cases.get(name)
        try:
            ledger = audit.run(adapter, cases.tiny_task(case), settings_of(adapter), spec_of(adapter), 0).ledger
        except audit.REFUSED as error:
            reasons.append((1, f"no fit under these settings: {error}"))
            continue
        if adapter.releases_a_draw or all(map(bounds.known, ledger)):
            return (name, case), ""
        reasons.append((0, "the likelihood ratio of its releases is not known here"))
    return None, min(reasons)[1]


@cache
def row(method: str, runs: int = RUNS) -> dict:
    """One row of the table. A declared leak of standardisation is closed first, as in the audit."""
    if not methods()[method]:
        adapter = cases.get(method)
        told = {"method": method, "kind": adapter.models[0], "relation": str(adapter.privacy)}
        return told | {"reason": "it takes none of the toy tasks of the audit"}
    name, case = methods()[method][0]
    found, reason = chosen(method)
    if found is None:
        network = all(c.startswith("bnn") for _, c in methods()[method])
        return _head(name, case) | (_canaries(name, case, reason) if network else {"reason": reason})
    name, case = found
    with mutants.loaded(cases.get(name), cases.closed(name, case)) as adapter:
        measure = _draws if adapter.releases_a_draw else _releases
        told = measure(adapter, cases.tiny_task(case), settings_of(adapter), runs)
    if cases.closed(name, case):
        told["reason"] = "of a copy in which the declared leak of standardisation is closed"
    return _head(name, case) | {"runs": runs, "delta": cases.DELTA, "wide_delta": WIDE} | told


def _head(name: str, case: str) -> dict:
    adapter = cases.get(name)
    return {"method": adapter.name, "kind": cases.MODELS[case].kind, "case": case, "relation": str(adapter.privacy)}


def _releases(adapter, task, settings, runs: int) -> dict:
    """Bounds from all releases of a method that adds noise, and their power."""
    pair, d, other, part = bounds.worst_pair(adapter, task, settings, SPEC, 1)
    ledger = audit.run(adapter, d, settings, SPEC, 0).ledger
    told = {"pair": pair, "reached": round(part, 3)}
    told |= _bounds(ledger, *bounds.losses(adapter, d, other, settings, SPEC, runs, 1))
    weak = bounds.losses(adapter, d, other, settings, FaultySpec(SPEC, of(WEAK)), runs, 2)
    told |= {f"weak_{k}": v for k, v in _bounds(ledger, *weak).items() if k.startswith(("lower", "wide_lower"))}
    power, normal = bounds.power(*weak, {cases.DELTA: told["epsilon"], WIDE: told["wide_epsilon"]})
    told |= {"power": power[cases.DELTA], "wide_power": power[WIDE]}
    return told | ({"power_gdp": normal} if "lower_gdp" in told else {})


def _canaries(name: str, case: str, reason: str) -> dict:
    """The bound of a slow method that only fits networks: one fit with canaries at random corners of the ranges."""
    with mutants.loaded(cases.get(name), cases.closed(name, case)) as adapter:
        task, rng = cases.tiny_task(case), np.random.default_rng(1)
        sizes = np.abs(task.x).max(axis=0)
        rows = rng.choice([-1.0, 1.0], (CANARIES, len(sizes))) * sizes
        targets = rng.choice(task.y, CANARIES)
        settings = dataclasses.replace(settings_of(adapter), batch_size=task.n + CANARIES)
        found, coins = canaries.scores(adapter, task, settings, SPEC, 1, rows, targets)
        everything = canaries.tasks_of(task, adapter.privacy, rows, targets, coins)
        ledger = audit.run(adapter, everything, settings, SPEC, 1).ledger
    guesses, right = canaries.right_guesses(found, coins)
    told = {"runs": 1, "delta": cases.DELTA, "wide_delta": WIDE, "pair": f"{CANARIES} canaries"}
    mu = math.sqrt(sum(e.steps / e.noise_multiplier**2 for e in ledger))
    for prefix, delta in (("", cases.DELTA), ("wide_", WIDE)):
        exact = epsilon_of(ledger, delta).epsilon
        told |= {f"{prefix}epsilon": exact}
        told |= {f"{prefix}lower": canaries.lower_bound(CANARIES, guesses, right, delta, CONFIDENCE)}
        told |= {f"{prefix}power": canaries.power(CANARIES, 1.5 * mu, exact, delta)}
    most = canaries.lower_bound(CANARIES, guesses, guesses, cases.DELTA, CONFIDENCE)
    seen = f"one fit with {CANARIES} canaries, since {reason}; {right} of {guesses} guesses are right"
    known = f"the power is that of orthogonal canaries; if all guesses were right, the bound would be {most:.2f}"
    return told | {"reason": f"{seen}; {known}"}


def _draws(adapter, task, settings, runs: int) -> dict:
    """The bound of a method whose release is one posterior draw."""
    spec = cases.DRAW_SPEC
    pair, d, other = bounds.worst_pair_of_draws(adapter, task, settings, spec, 1)
    ledger = audit.run(adapter, d, settings, spec, 0).ledger
    told = {"pair": pair, "reason": "a draw has no noise to weaken, so the power of its bound is not measured"}
    return told | _bounds(ledger, *bounds.draw_scores(adapter, d, other, settings, spec, runs, 1))


def _bounds(ledger, one, other) -> dict:
    """Epsilon of the ledger and lower bounds at both deltas. Bounds by Gaussian DP need only Gaussian events."""
    found, wide = (audit.epsilon_lower_bound(one, other, delta, CONFIDENCE) for delta in (cases.DELTA, WIDE))
    told = {"epsilon": epsilon_of(ledger, cases.DELTA).epsilon, "lower": found.epsilon}
    told |= {"wide_epsilon": epsilon_of(ledger, WIDE).epsilon, "wide_lower": wide.epsilon}
    normal = all(e.mechanism is Mechanism.GAUSSIAN for e in ledger)
    return told | ({"lower_gdp": found.epsilon_gdp} if normal else {})


def maker(method: str) -> str:
    """The method whose run this method post-processes, so both release the same. For most it is the method itself."""
    found = {cases.get(name).run_of for name, _ in methods()[method]}
    return found.pop() or method if len(found) == 1 else method


def rows(wanted: Sequence[str], folder: Path | None = None, runs: int = RUNS) -> Iterator[dict]:
    """One row per method. Progress goes to the error stream. ``folder`` keeps the rows for a later run."""
    for k, method in enumerate(wanted, 1):
        made = maker(method)
        path = None if folder is None else folder / resume.file_name("bound", made)
        adapters = sorted({name for name, _ in methods()[made]} or {made})
        files = {f for name in adapters for f in resume.files_of(cases.get(name))}
        kept = resume.kept(path, resume.key_of([*sorted(files), Path(__file__)]), partial(row, made, runs))
        print(f"lower bound {k} of {len(wanted)}: {method}, {kept.seconds:.0f} CPU s", file=sys.stderr, flush=True)
        yield kept.result if made == method else _read_from(kept.result, method, made)


def _read_from(told: dict, method: str, made: str) -> dict:
    """The row of a method that post-processes the run of another method."""
    return told | {"method": method, "reason": f"its releases are those of {contract.get(made).title}"}


def table(found: Iterable[dict]) -> pd.DataFrame:
    """The rows as a table, with the false-alarm rate of each bound."""
    frame = pd.DataFrame(found, columns=COLUMNS).astype({"runs": "Int64"})
    return frame.assign(false_alarm=[round(1 - CONFIDENCE, 2) if there else "" for there in frame["lower"].notna()])


def main() -> None:
    parser = argparse.ArgumentParser(description="Lower bounds on epsilon from all that a fit releases.")
    parser.add_argument("--out", required=True, type=Path, help="CSV, one row per private method")
    parser.add_argument("--kept", type=Path, help="folder that keeps the row of each method; default: none")
    parser.add_argument("--methods", nargs="*", help="names of methods; default: all private ones")
    args = parser.parse_args()
    if unknown := sorted(set(args.methods or ()) - set(methods())):
        parser.error(f"no private method {unknown[0]}; there are {', '.join(sorted(methods()))}")
    wanted = [m for m in sorted(methods()) if not args.methods or m in args.methods]
    write_sealed(args.out, table(rows(wanted, args.kept)).to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    main()
