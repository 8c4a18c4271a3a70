"""The arms (methods with settings and budget) of an experiment file, with lists of methods and budgets written out.

An arm may name several ``methods`` instead of one ``method``. It becomes one arm per method. The methods must read the
same run (their ``run_of`` is equal). They get the same ``family``, and the run is made once.

An arm may have a ``budget_grid`` instead of one budget::

    budget_grid: {orders: [1, 10], log_epsilons: [-5, 0, 3], quick: {orders: [10], log_epsilons: [0]}}

It becomes one arm with a Renyi budget per (order, epsilon). A grid without ``orders`` gives one arm per epsilon, with
the delta of the arm's ``budget``. ``epsilons`` lists the numbers themselves, ``log_epsilons`` their natural logarithms.
The label of an arm names them: ``order=10;epsilon=e^-5``. ``quick`` lists those that run below full scale; by default
all do. All arms of a grid have the same ``family``: their fits share the rows of a split, and a method may fit them
together.
"""

from __future__ import annotations

import math
from typing import Any

#: first word of the setting of an ablation, which supports a finding and is in no comparison.
ABLATION = "ablation"
#: keys of ``budget_grid`` and of its ``quick``.
AXES = ("orders", "epsilons", "log_epsilons")


def written_out(arms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The arms, with each ``methods`` and each ``budget_grid`` (in the order orders x epsilons) replaced by its arms.

    Raises ValueError if a grid has no epsilons, both kinds of epsilons, or a ``quick`` value that it lacks, and if an
    arm has ``methods`` with ``method`` or with a grid.
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
