"""The arms of an experiment's config, with each grid of budgets written out as one arm a budget.

An arm may also say ``methods`` instead of ``method``: one arm each, for methods that read one and the same run (their
``run_of`` is the same); they are one family, and the run is made once.

An arm may say ``budget_grid`` instead of naming its budgets one by one::

    budget_grid: {orders: [1, 10], log_epsilons: [-5, 0, 3], quick: {orders: [10], log_epsilons: [0]}}

It then becomes one arm per (order, epsilon), a Renyi budget; without ``orders`` per epsilon, an (epsilon, delta)
budget with the delta of the arm's ``budget``. ``epsilons`` gives the numbers themselves, ``log_epsilons`` their natural
logarithms. The setting is named by them: ``order=10;epsilon=e^-5``. ``quick`` says which of them run below full scale;
without it all do. All arms of a grid carry the same ``family``: their fits share the rows of a split, and a method may
fit them in one go.
"""

from __future__ import annotations

import math
from typing import Any

#: first word of the setting of an ablation: it backs a finding and is in no comparison.
ABLATION = "ablation"
#: keys of ``budget_grid``, and those of its ``quick``.
AXES = ("orders", "epsilons", "log_epsilons")


def written_out(arms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The arms with each ``budget_grid`` replaced by its arms, in the order orders x epsilons, and each ``methods``.

    Raises ValueError where a grid has no epsilon, both kinds of epsilon, or a ``quick`` with a value that it lacks, and
    where an arm has both ``method`` and ``methods``, or ``methods`` and a grid.
    """
    out: list[dict[str, Any]] = []
    for arm in arms:
        if "methods" in arm:
            out += _of_methods(arm)
        else:
            out += _of_grid(arm) if "budget_grid" in arm else [arm]
    return out


def _of_methods(arm: dict[str, Any]) -> list[dict[str, Any]]:
    names = arm["methods"]
    for other in ("method", "budget_grid"):
        if other in arm:
            raise ValueError(f"arm {', '.join(names)}: it has methods and {other}; keep one")
    base = {k: v for k, v in arm.items() if k != "methods"}
    return [{**base, "method": name, "family": f"{names[0]} {arm.get('label', '')}".strip()} for name in names]


def _of_grid(arm: dict[str, Any]) -> list[dict[str, Any]]:
    grid = dict(arm["budget_grid"])
    where = f"arm {arm['method']} {arm.get('label', '')}: budget_grid".replace(" :", ":")
    quick = grid.pop("quick", None)
    if ("epsilons" in grid) == ("log_epsilons" in grid):
        raise ValueError(f"{where}: give either epsilons or log_epsilons")
    for axis, values in (quick or {}).items():
        if lacking := [v for v in values if v not in grid.get(axis, [])]:
            raise ValueError(f"{where}.quick.{axis}: {lacking[0]} is not one of the grid's {axis}")
    axis = "epsilons" if "epsilons" in grid else "log_epsilons"
    base = {k: v for k, v in arm.items() if k != "budget_grid"}
    family = f"{arm['method']} {arm.get('label', '')}".strip()
    out = []
    for order in grid.get("orders", [None]):
        for number in grid[axis]:
            epsilon = float(number) if axis == "epsilons" else math.exp(number)
            words = [arm.get("label", ""), "" if order is None else f"order={order:g}"]
            words.append(f"epsilon={number:g}" if axis == "epsilons" else f"epsilon=e^{number:g}")
            budget = {"epsilon": epsilon} if order is None else {"renyi": [float(order), epsilon]}
            now = quick is None or all(
                v in quick.get(a, [v]) for a, v in (("orders", order), (axis, number)) if v is not None
            )
            out.append(
                {
                    **base,
                    "label": ";".join(filter(None, words)),
                    "budget": {**arm.get("budget", {}), **budget},
                    "quick": bool(arm.get("quick", True) and now),
                    "family": family,
                }
            )
    return out
