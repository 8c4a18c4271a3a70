"""The contents of a block that table, figure and paragraphs share: the fit at each epsilon, names and words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from common_tasks import best
from common_tasks.scores import PRIVATE_YARDSTICK, Family, role_of, title
from evaluation.metrics import METRICS

#: name in place of a data set, for the prediction of the model for the next table.
NEXT = "(next table)"
#: absolute value beyond which a score is shown as a bound.
FAR = 1000
#: columns of ``Block.data``.
DATA = (
    *("task", "metric", "unit", "method", "title", "epsilon", "settings", "dataset", "score", "low", "high", "counts"),
    *("probability", "regret"),
)


def titled(method: str, kind: str) -> str:
    """Heading of a method with its label, which says if it is a simple baseline."""
    name, _, own = method.partition(", ")
    words = ", ".join(filter(None, (title(name, kind), own)))
    return words + (" (baseline)" if role_of(name, kind, True) == PRIVATE_YARDSTICK else "")


def number(value: float, digits: int = 2) -> str:
    """A score as text. One that is far off is shown as a bound, because its digits say nothing."""
    if abs(value) >= FAR:
        return f"{'below -' if value < 0 else 'above '}{FAR:,}"
    return f"{value:.{digits}f}"


@dataclass(eq=False)
class Answer:
    """The answer for one task. ``at(epsilon)`` has scores, posterior and winner."""

    family: Family
    about: best.About

    @cached_property
    def epsilons(self) -> list[str]:
        """The epsilons at which a private method has a score."""
        return [e for e in self.family.epsilons if np.isfinite(self.at(e).scores.y).any()]

    @cached_property
    def main(self) -> str:
        """The epsilon of the table and the first sentence: 1, or the middle one."""
        return "1" if "1" in self.epsilons else self.epsilons[(len(self.epsilons) - 1) // 2]

    def at(self, epsilon: str) -> best.Fitted:
        return best.fit(self.family, epsilon, self.about)

    def name(self, method: str) -> str:
        return titled(method, self.family.kind)

    def set_name(self, dataset: str) -> str:
        if self.own:
            return "score"
        return dataset.replace("_", " ") if self.about.fresh else self.family.set_title(dataset)

    @property
    def own(self) -> bool:
        """Whether the advice is about one table of a user."""
        return bool(self.about.limits) and not self.about.fresh

    @property
    def sets(self) -> str:
        """The word for a data set."""
        return "shape" if self.about.fresh else "table"

    def order(self, epsilon: str) -> list[str]:
        """Methods, the most probable winner first and those without a score last. In order of names without a model."""
        fitted = self.at(epsilon)
        if len(fitted.frame):
            found = list(fitted.frame.loc[fitted.frame["without"] == "", "method"])
        else:
            rated = np.isfinite(fitted.scores.y).any(axis=1)
            found = [m for m, has in zip(fitted.scores.methods, rated, strict=True) if has]
            found.sort(key=lambda m: self.name(m).lower())
        return [*found, *(m for m in fitted.scores.methods if m not in found)]

    @cached_property
    def words(self) -> str:
        """The meaning of a score, in words."""
        metric = METRICS[best.metric_of(self.family)]
        scores = self.at(self.main).scores
        if not scores.scaled:
            return f"{metric.title} in {metric.unit.words}"
        zero, one, _ = best.ends(self.family, scores.sets[0], self.about)
        kind = self.family.kind
        return (
            f"{metric.title} on a scale of each table: 0 is {title(zero.method, kind)}, 1 is {title(one.method, kind)} "
            "without privacy"
        )

    def data(self) -> pd.DataFrame:
        """The frame of ``Block.data``."""
        out: list[dict[str, Any]] = []
        for epsilon in self.epsilons:
            fitted = self.at(epsilon)
            whole = fitted.frame[fitted.frame["without"] == ""].set_index("method")
            for method in self.order(epsilon):
                row = {"task": self.family.task, "metric": best.metric_of(self.family)}
                row |= {"unit": "scaled" if fitted.scores.scaled else METRICS[row["metric"]].unit.words}
                row |= {"method": method, "title": self.name(method), "epsilon": epsilon}
                row |= {"settings": fitted.scores.settings[method]}
                if method in whole.index:
                    r = whole.loc[method]
                    told = {c: r[c] for c in ("score", "probability", "regret")}
                    out.append(row | {"dataset": NEXT} | told)
                for d in fitted.scores.named:
                    score, error = fitted.scores.on(method, d)
                    if np.isfinite(score):
                        low, high = score - 1.96 * error, score + 1.96 * error
                        counts = (method, d) not in self.looked_at
                        out.append(row | {"dataset": d, "score": score, "low": low, "high": high, "counts": counts})
        return pd.DataFrame(out, columns=DATA)

    @cached_property
    def looked_at(self) -> dict[tuple[str, str], None]:
        """(method, data set) pairs for which the data set was looked at while the method was designed."""
        scores = self.at(self.main).scores
        return {
            (m, d): None
            for i, m in enumerate(scores.methods)
            for k, d in enumerate(scores.sets)
            if scores.seen[i, k] and np.isfinite(scores.y[i, k])
        }
