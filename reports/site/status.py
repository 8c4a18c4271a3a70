"""The privacy status at the top of the page of a method, computed from the ledger and the audit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from methods.contract import Method
from reports import privacy_claims
from reports.frames import bound
from reports.ledger import ANSWER, TOTAL
from reports.site.words import kind_title, relation

#: share by which an epsilon may exceed its claim by rounding.
ROUNDING = 1e-9
#: first words of the status of a method with a claim that is not shown to hold.
NO_EPSILON, REFUTED, NOT_SHOWN = "No finite epsilon", "Claimed epsilon refuted", "Claimed epsilon not shown"


def privacy_status(
    adapters: Sequence[Method], ledger: pd.DataFrame, audit: pd.DataFrame | None, claims: pd.DataFrame
) -> str:
    """One of "No finite epsilon ...", "Claimed epsilon refuted: ...", "Claimed epsilon not shown: ...", "Private: ..."
    and "Not private".

    Parameters
    ----------
    adapters : all adapters of one method.
    ledger, audit : rows of ``reports.ledger`` and of ``privacy_audit.csv`` on that method; ``audit`` None: not run.
    claims : rows of ``privacy_claims.csv`` on that method, every column text. Their words come first.

    The claims of other runs, which no paper prints, are not shown if the epsilon by the ledger is above them.
    """
    told = _of_claims(claims) if len(claims) else _of_runs(ledger)
    if told:
        return told
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


def _of_claims(claims: pd.DataFrame) -> str:
    """What is known against published claims, with the bounds; "" if all hold."""
    parts = []
    for word, start in (
        (privacy_claims.NO_EPSILON, NO_EPSILON), (privacy_claims.REFUTED, REFUTED),
        (privacy_claims.NOT_SHOWN, NOT_SHOWN),
    ):  # fmt: skip
        rows = claims[claims["word"] == word]
        if rows.empty:
            continue
        claimed = ", ".join(f"{c:g}" for c in sorted({float(f"{float(c):.3g}") for c in rows["claimed"]}))
        said = f"{start} for a claimed {claimed}" if word == privacy_claims.NO_EPSILON else f"{start}: "
        if word == privacy_claims.REFUTED:
            said += f"at least {_bounds(rows['lower'], up=False)} for a claimed {claimed}"
        elif word == privacy_claims.NOT_SHOWN:
            seen = _bounds(rows["all_steps"], up=False)
            said += f"at least {seen} if all steps are seen, " if seen else ""
            said += f"at most {_bounds(rows['upper'], up=True)}, for a claimed {claimed}"
        parts.append(said)
    return "; ".join([*parts[:1], *(part[0].lower() + part[1:] for part in parts[1:])])


def _bounds(column: pd.Series, up: bool) -> str:
    """The smallest and the largest bound of a column of texts, as text; "" if there is none."""
    found = sorted(float(value) for value in column if value)
    return " to ".join(dict.fromkeys("infinite" if math.isinf(v) else bound(v, up) for v in found[:1] + found[-1:]))


def _of_runs(ledger: pd.DataFrame) -> str:
    """The claims of runs that the ledger does not cover; "" if there are none."""
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
    if not claims:
        return ""
    above = sum(map(len, claims.values()))
    where = "" if above == runs else f" in {above} of {runs} runs"
    ranges: dict[str, list[str]] = {}
    for claimed, epsilons in sorted(claims.items()):
        ranges.setdefault(_range(epsilons), []).append(f"{claimed:g}")
    listed = ", ".join(f"{range_} for a claimed {', '.join(of)}" for range_, of in ranges.items())
    return f"{NOT_SHOWN}{where}: at most {listed}"
