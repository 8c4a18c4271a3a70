"""The part of a private fit that may leave the machine: the parameters of one posterior, and its guarantee.

:func:`contents` alone decides what that is. ``workflow.release`` and ``dpbayes_bench.private_fit`` write its result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privacy.accountants import epsilon_of
from privacy.ledger import Ledger, Relation

#: names of the two files.
POSTERIOR, GUARANTEE = "posterior.npz", "guarantee.json"
#: relation of a ledger -> the two tables that its epsilon compares if the number of rows is public.
NEIGHBOURS = {
    "add_remove": "one row's values against an empty row",
    "replace_one": "one row replaced by another",
}


class ReleaseError(ValueError):
    """A fit or a file may not leave the machine. The message says why, and what to do."""


def contents(
    kind: str,
    parameters: Mapping[str, np.ndarray],
    ledger: Ledger,
    delta: float,
    asked: Mapping[str, Any],
    leaks: Sequence[str] = (),
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The posterior's arrays by name, and the guarantee as a mapping. A release of one fit consists of these two only.

    Parameters
    ----------
    kind, parameters : the posterior's class in ``models.posteriors``, and its arrays by name.
    ledger : the fit's ledger. Its epsilon is computed here, at ``delta``.
    asked : what was asked for before a row was read, such as method, settings and budget. It is written unchanged, so
        it must hold nothing that depends on rows: no time, no diagnostic, no digest of the table, no seed, no score.
    leaks : sentences on what the epsilon does not count.

    The caller must make sure that the noise of the fit is secret. Raises ReleaseError for an empty ledger, for an
    infinite epsilon, and for parameters that are not finite.
    """
    if not len(ledger):
        raise ReleaseError("the ledger is empty: this fit claims no guarantee; release the fit of a private method")
    cost = epsilon_of(ledger, delta)
    if not math.isfinite(cost.epsilon):
        raise ReleaseError("by its ledger the fit has no finite epsilon; release the fit of another method or reading")
    arrays = {name: np.asarray(value) for name, value in parameters.items()}
    if bad := [name for name, value in arrays.items() if value.dtype.kind in "fc" and not np.isfinite(value).all()]:
        raise ReleaseError(f"the posterior's {bad[0]} has a NaN or infinity; release a fit whose status is ok")
    events = [e | {"sensitivity": _number(e["sensitivity"])} for e in ledger.to_json()]
    words = {
        "asked": dict(asked),
        "posterior": kind,
        "epsilon": cost.epsilon,
        "delta": delta,
        "relation": str(cost.relation),
        "accountant": cost.accountant,
        "guarantee": NEIGHBOURS[str(cost.relation)],
        NEIGHBOURS["replace_one"]: _replaced(ledger, delta),
        "ledger": events,
        "not counted": list(leaks),
    }
    return arrays, json.loads(json.dumps(words))


def _replaced(ledger: Ledger, delta: float) -> dict[str, Any] | None:
    """Epsilon of one row replaced by another at the same delta, and its accountant; None if it has no finite one."""
    cost = epsilon_of(ledger, delta, relation=Relation.REPLACE_ONE)
    return {"epsilon": cost.epsilon, "accountant": cost.accountant} if math.isfinite(cost.epsilon) else None


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return value if math.isfinite(value) else "inf"
