"""The privacy status at the top of the page of a method, computed from the ledger and the audit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from methods.contract import Method
from reports.ledger import ANSWER, TOTAL
from reports.site.words import kind_title, relation

#: share by which an epsilon may exceed its claim by rounding.
ROUNDING = 1e-9


def privacy_status(adapters: Sequence[Method], ledger: pd.DataFrame, audit: pd.DataFrame | None) -> str:
    """One of "Claimed epsilon refuted: ...", "Private: ..." and "Not private".

    Parameters
    ----------
    adapters : all adapters of one method.
    ledger, audit : rows of ``reports.ledger`` and of ``privacy_audit.csv`` on that method; ``audit`` None: not run.

    A claim is refuted if the epsilon that the suite computes from the ledger of a run exceeds the epsilon that the run
    claims, or is infinite.
    """
    total = ledger[ledger["event"] == TOTAL] if len(ledger) else ledger
    claims: dict[float, list[float]] = {}
    runs = 0
    for _, cell in total.groupby("cell", sort=False) if len(total) else ():
        claimed = pd.to_numeric(cell["epsilon_claimed"], errors="coerce").iloc[0]
        epsilons = pd.to_numeric(cell["epsilon"], errors="coerce")
        answer = epsilons[cell["reason"].str.contains(ANSWER, regex=False)]
        epsilon = answer.iloc[0] if len(answer) else epsilons.max()
        runs += bool(not math.isnan(claimed) and not math.isnan(epsilon))
        if epsilon > claimed * (1 + ROUNDING):
            claims.setdefault(float(claimed), []).append(float(epsilon))
    if claims:
        refuted = sum(map(len, claims.values()))
        where = "" if refuted == runs else f" in {refuted} of {runs} runs"
        ranges: dict[str, list[str]] = {}
        for claimed, epsilons in sorted(claims.items()):
            ranges.setdefault(_range(epsilons), []).append(f"{claimed:g}")
        listed = ", ".join(f"{range_} for a claimed {', '.join(of)}" for range_, of in ranges.items())
        return f"Claimed epsilon refuted{where}: {listed}"
    private = {kind: m.privacy for m in adapters for kind in m.models if m.privacy}
    if not private:
        return "Not private"
    kinds = {r: [kind_title(k) for k, of in private.items() if of == r] for r in dict.fromkeys(private.values())}
    said = ", ".join(relation(r) + (f" ({'; '.join(of)})" if len(kinds) > 1 else "") for r, of in kinds.items())
    leaks = any(m.leaks for m in adapters if m.privacy)
    return f"Private: {said}, {_audited(private, audit)}" + (
        "; with leaks that its epsilon does not count" if leaks else ""
    )


def _audited(kinds: Sequence[str], audit: pd.DataFrame | None) -> str:
    if audit is None or not len(audit):
        return "not audited"
    if (failed := audit[~audit["result"].isin(["passed", "leak"])]["check"]).any():
        return f"audit failed ({', '.join(dict.fromkeys(failed))})"
    missing = [kind_title(k) for k in kinds if k not in set(audit["kind"])]
    return "audited" + (f" (not for {'; '.join(missing)})" if missing else "")


def _range(values: Sequence[float]) -> str:
    """The smallest and the largest value, as in "11 to 60", or one of them if their texts are equal."""
    ends = dict.fromkeys("infinite" if math.isinf(v) else f"{v:.0f}" if 10 <= v < 1e6 else f"{v:.3g}"
                         for v in (min(values), max(values)))  # fmt: skip
    return " to ".join(ends)
