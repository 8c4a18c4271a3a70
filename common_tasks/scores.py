"""Scores of the common tasks, read once for tables, figures and sentences.

There is one :class:`Family` per experiment of the rule ``common_tasks``. It has the arms of the experiment with their
roles, and their scores by split. An arm is a method at an epsilon, with default settings or with settings that were
tuned on synthetic surrogate data.

If tuning chose the default, there is no cell of that name. The default's scores at the same epsilon are then the
method's scores in the tuned column (:func:`taken_over`). The same holds for a method that has nothing to tune.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from evaluation.arms import ABLATION
from evaluation.metrics import METRICS, UP, main_metrics
from evaluation.summary import summarise, values_by
from methods.contract import Role
from models.kind import kind as kind_of
from models.kind import kinds
from reports.ledger import CONDITIONAL, conditional
from reports.tables import dataset_title, natural

#: roles of arms, in the order of the tables.
PRIVATE, PRIVATE_YARDSTICK, BARE, REFERENCE, FREE, FREE_YARDSTICK = (
    "Private",
    "Baselines, private",
    "Claims an epsilon, gives no guarantee",
    "Reference, without privacy",
    "Without privacy",
    "Baselines, without privacy",
)
ROLES = (PRIVATE, PRIVATE_YARDSTICK, BARE, REFERENCE, FREE, FREE_YARDSTICK)
#: kind of model -> the non-private method: the exact posterior if there is one.
REFERENCES = {name: kind_of(name).references for name in kinds()}
FAILED = ("failed", "timeout", "diverged")
#: reasons of a refusal: a method that fails with one of these on every split does not count as worse.
REFUSALS = ("MethodError: ", "BudgetExceeded: ")
REFUSED = "not_supported"
ROOT = Path(__file__).parent.parent
#: mark after the name of a data set whose guarantees are conditional.
CONDITIONAL_MARK = "*"
CONDITIONAL_NOTE = f"{CONDITIONAL_MARK} {CONDITIONAL}. These follow from the private rows, and no epsilon counts them."
#: reasons why a method is in a tuned column with its default: the default won the tuning, there is no grid, or there is
#: a grid and nothing was tried on that data set.
DEFAULT, NO_GRID, NOT_TUNED = "default", "default, no grid", "default, not tuned"


@dataclass(frozen=True, order=True)
class Arm:
    """A method at one setting. ``epsilon``: that of its budget as the config writes it, "" for a non-private method."""

    method: str
    setting: str
    epsilon: str
    tuned: bool
    role: str

    @property
    def column(self) -> tuple[str, bool]:
        return self.epsilon, self.tuned


@dataclass(frozen=True, eq=False)
class Family:
    """All scores of one experiment of the rule. It is equal only to itself, so results derived from it can be cached.

    * ``values``: (data set, arm, metric) -> split -> score, for status ok.
    * ``summary``: the same keys -> a row of ``evaluation.summary.summarise``.
    * ``status``: (data set, arm) -> the cell's (status, reason). It is ``REFUSED`` if a method says that it cannot keep
      the budget.
    * ``arms``: arms that are compared with each other.
    * ``ablations``: arms that support a finding. They were added after test scores were seen, so they are not compared.
    * ``defaults``: (data set, tuned arm) -> the default arm whose scores it has there, and why: ``DEFAULT``,
      ``NO_GRID`` or ``NOT_TUNED``.
    """

    experiment: str
    title: str
    kind: str
    datasets: tuple[str, ...]
    arms: tuple[Arm, ...]
    ablations: tuple[Arm, ...]
    values: dict[tuple[str, Arm, str], dict[str, float]]
    summary: dict[tuple[str, Arm, str], dict[str, Any]]
    status: dict[tuple[str, Arm], tuple[str, str]]
    scores: pd.DataFrame
    defaults: dict[tuple[str, Arm], tuple[Arm, str]] = attribute(default_factory=dict)

    @property
    def task(self) -> str:
        """The experiment's name without its first word."""
        return self.experiment.removeprefix("common_")

    @cached_property
    def metrics(self) -> list[str]:
        """Metrics that are compared and have scores."""
        return [m for m in main_metrics() if any(key[2] == m for key in self.values)]

    @property
    def every_arm(self) -> tuple[Arm, ...]:
        return (*self.arms, *self.ablations)

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """(epsilon, tuned) of the private arms, by epsilon, with the tuned column after the default."""
        return sorted({a.column for a in self.arms if a.epsilon}, key=lambda c: (float(c[0]), c[1]))

    @property
    def conditional(self) -> tuple[str, ...]:
        """Data sets whose private fits use ranges that are the minimum and maximum of the table itself."""
        return tuple(d for d in self.datasets if conditional(d, self.kind))

    def set_title(self, dataset: str) -> str:
        """The title of a data set, with the mark if it is conditional."""
        return dataset_title(dataset) + (CONDITIONAL_MARK if dataset in self.conditional else "")

    @property
    def epsilons(self) -> list[str]:
        return list(dict.fromkeys(e for e, _ in self.columns))

    def of(self, *roles: str, column: tuple[str, bool] | None = None) -> list[Arm]:
        """Arms with one of these roles, in one column if it is given."""
        return [a for a in self.arms if a.role in roles and column in (None, a.column)]

    def mark(self, dataset: str, arm: Arm) -> str:
        """The mark of a number in a tuned column that is the default's, otherwise ""."""
        return self.defaults[dataset, arm][1] if (dataset, arm) in self.defaults else ""

    def field(self, dataset: str, metric: str, arms: Iterable[Arm]) -> dict[Arm, dict[str, float]]:
        """Scores by split of the arms that can be compared: those with a score, and failed ones (empty)."""
        out = {}
        for arm in arms:
            if scores := self.values.get((dataset, arm, metric)):
                out[arm] = scores
            elif self.status.get((dataset, arm), ("", ""))[0] in FAILED:
                out[arm] = {}
        return out


def read(config: dict[str, Any], scores: pd.DataFrame) -> Family:
    """The family of one experiment. ``scores``: tidy rows (``evaluation.summary.COLUMNS``) of that experiment.

    If the config names a file of tuned settings (``tuned``), the tuned columns are filled (:func:`taken_over`).
    """
    kind = config["model"]["kind"]
    pairs = scores[["method", "setting"]].drop_duplicates().to_numpy()
    private = scores[~scores["epsilon"].isin(["", "inf"])].drop_duplicates(["method", "setting"])
    spent = private.set_index(["method", "setting"])["epsilon"].to_dict()
    arms = {(*pair,): arm_of(*pair, kind, budget_of(*pair, config, spent)) for pair in pairs}
    summary, status = {}, {}
    for r in summarise(scores).to_dict("records"):
        arm = arms[r["method"], r["setting"]]
        refused = r["status"] == "failed" and r["reason"].startswith(REFUSALS)
        status[r["dataset"], arm] = REFUSED if refused else r["status"], r["reason"]
        if r["metric"]:
            summary[r["dataset"], arm, r["metric"]] = r
    of = values_by(scores, "dataset", "method", "setting", "metric")
    values = {(d, arms[method, setting], metric): scored for (d, method, setting, metric), scored in of.items()}
    defaults = taken_over(chosen(config), set(arms.values()), status, kind)
    _copy(defaults, status, summary, values)
    present = set(scores["dataset"])
    ordered = sorted(
        {*arms.values(), *(arm for _, arm in defaults)},
        key=lambda a: (ROLES.index(a.role), title(a.method, kind).lower(), natural(a.setting)),
    )
    apart = tuple(a for a in ordered if ABLATION in a.setting.split(";"))
    return Family(
        config["experiment"], config.get("title", config["experiment"]), kind,
        tuple(d for d in config["datasets"] if d in present), tuple(a for a in ordered if a not in apart), apart,
        values, summary, status, scores, defaults,
    )  # fmt: skip


def _copy(defaults: dict[tuple[str, Arm], tuple[Arm, str]], status: dict, *tables: dict) -> None:
    """Give each tuned arm of ``defaults`` the status and the scores of its source, in place."""
    metrics = [dict.fromkeys(metric for *_, metric in table) for table in tables]
    for (dataset, arm), (source, _) in defaults.items():
        status[dataset, arm] = status[dataset, source]
        for table, names in zip(tables, metrics, strict=True):
            table |= {(dataset, arm, m): table[dataset, source, m] for m in names if (dataset, source, m) in table}


def tasks(families: Sequence[Family]) -> list[tuple[Family, list[Family]]]:
    """(family of a task, the experiments that it combines), in the order given.

    Experiments of one kind of model whose titles begin alike are one task, on the tables of all of them. A table of an
    experiment without tuning has the default settings in the tuned columns. Each table is in only one experiment.
    """
    groups: dict[tuple[str, str], list[Family]] = {}
    for f in families:
        groups.setdefault((f.kind, f.title.partition(":")[0]), []).append(f)
    return [(_joined(group), group) for group in groups.values()]


def _joined(group: Sequence[Family]) -> Family:
    """One family that combines several. The one with the most tuned arms gives its name."""
    if len(group) == 1:
        return group[0]
    first, *others = sorted(group, key=lambda f: -sum(a.tuned for a in f.arms))
    values, summary, status, defaults = ({}, {}, {}, {})
    for f in (first, *others):
        for whole, part in ((values, f.values), (summary, f.summary), (status, f.status), (defaults, f.defaults)):
            whole |= part
    arms = dict.fromkeys(a for f in (first, *others) for a in f.arms)
    for f in others:
        more = taken_over({}, set(arms), f.status, f.kind)
        _copy(more, status, summary, values)
        defaults |= more
        arms |= dict.fromkeys(arm for _, arm in more)
    return Family(
        first.experiment, first.title, first.kind, tuple(d for f in (first, *others) for d in f.datasets), tuple(arms),
        tuple(a for f in (first, *others) for a in f.ablations), values, summary, status,
        pd.concat([f.scores for f in (first, *others)], ignore_index=True), defaults,
    )  # fmt: skip


def chosen(config: dict[str, Any]) -> dict[str, Any] | None:
    """data set -> method -> epsilon -> settings that ``common_tasks.tuning`` chose. None if nothing is tuned."""
    if "tuned" not in config:
        return None
    return json.loads((ROOT / config["tuned"]).read_text(encoding="utf-8"))


def taken_over(
    tuned: dict[str, Any] | None, arms: set[Arm], status: dict[tuple[str, Arm], tuple[str, str]], kind: str
) -> dict[tuple[str, Arm], tuple[Arm, str]]:
    """(data set, tuned arm) -> (default arm whose scores it takes over, why), for every tuned column.

    A private method or baseline takes over its default at the same epsilon and on the same data set in three cases:

    * The tuning chose the default.
    * The method has no ``grid``.
    * Nothing was tried for the method on that data set.

    If the tuning chose other settings that have no cell, the default is not taken over, because it is not the choice. A
    method without a guarantee is not tuned and not compared.

    Parameters
    ----------
    tuned : the result of :func:`chosen`.
    arms, status : those of the cells that ran. A column is tuned if one of them is.
    """
    if tuned is None:
        return {}
    epsilons = {a.epsilon for a in arms if a.tuned and a.epsilon}
    out = {}
    for dataset, source in status:
        tuneable = source.role in (PRIVATE, PRIVATE_YARDSTICK) and not source.tuned and not label(source)
        if not tuneable or ABLATION in source.setting.split(";") or source.epsilon not in epsilons:
            continue
        arm = Arm(source.method, f"tuned;epsilon={source.epsilon}", source.epsilon, True, source.role)
        choice = tuned.get(dataset, {}).get(source.method, {}).get(source.epsilon)
        if (dataset, arm) in status or (choice and choice["settings"]):
            continue
        method = adapter(source.method, kind)
        why = DEFAULT if choice else NOT_TUNED if method is not None and method.grid else NO_GRID
        out[dataset, arm] = source, why
    return out


def budget_of(method: str, setting: str, config: dict[str, Any], spent: dict[tuple[str, str], str]) -> str:
    """The epsilon of an arm whose ledgers have one: that of its budget, or what was spent. "" for a non-private arm.

    The ledger decides whether there is one, whatever the name of the arm. ``spent``: (method, setting) -> the first
    epsilon of its ledgers.
    """
    if (method, setting) not in spent:
        return ""
    named = {(a.get("method"), a.get("label", "")): a.get("budget", {}) for a in config["arms"]}
    budget = named.get((method, setting), config.get("include_unlisted_methods", {}).get("budget", {}))
    epsilon = budget.get("epsilon")
    return f"{epsilon if isinstance(epsilon, int | float) else float(spent[method, setting]):.3g}"


def arm_of(method: str, setting: str, kind: str, spent: str = "") -> Arm:
    """The arm of a method and setting, with its epsilon, whether it is tuned, and its role.

    A part of the setting that says none of these is a label. ``spent``: the epsilon of an arm whose setting names none.
    """
    parts = setting.split(";")
    epsilon = next((p.removeprefix("epsilon=") for p in parts if p.startswith("epsilon=")), spent)
    return Arm(method, setting, epsilon, "tuned" in parts, role_of(method, kind, bool(epsilon)))


def label(arm: Arm) -> str:
    """The part of a setting that is neither epsilon, nor tuning, nor the mark of an ablation."""
    return ", ".join(
        p for p in arm.setting.split(";") if p not in ("", "tuned", ABLATION) and not p.startswith("epsilon=")
    )


def role_of(method: str, kind: str, budgeted: bool) -> str:
    """The role of a method, one of ``ROLES``. ``budgeted``: whether it runs under an epsilon."""
    if not budgeted and method in REFERENCES.get(kind, ()):
        return REFERENCE
    method_class = adapter(method, kind)
    if method_class is not None and method_class.role is not Role.METHOD:
        return PRIVATE_YARDSTICK if budgeted else FREE_YARDSTICK
    if not budgeted:
        return FREE
    return BARE if method_class is not None and method_class.privacy is None else PRIVATE


def adapter(method: str, kind: str):
    """The method for that kind of model, or None if it no longer exists."""
    from methods import contract

    try:
        return contract.get(method, kind)
    except KeyError:
        return None


def trivial(arm: Arm, kind: str) -> bool:
    """Whether an arm is a non-private baseline that uses next to nothing of the data, which a private method must beat.

    The other non-private methods give the exact answer. They are references.
    """
    method_class = adapter(arm.method, kind)
    return arm.role == FREE_YARDSTICK and method_class is not None and method_class.role is Role.CONTROL


def title(method: str, kind: str) -> str:
    """The heading of a method, or its name if it no longer exists."""
    method_class = adapter(method, kind)
    return method if method_class is None else method_class.title


def name_of(arm: Arm, kind: str) -> str:
    """The heading of an arm without its epsilon."""
    words = [title(arm.method, kind), label(arm), "tuned" if arm.tuned and not arm.epsilon else ""]
    return ", ".join(filter(None, words))


def constants_of(family: Family, dataset: str, arm: Arm) -> str:
    """The origin of the settings of an arm on a data set: the tuning, or what the method states."""
    method_class = adapter(arm.method, family.kind)
    if method_class is None:
        return ""
    if arm.tuned and not family.mark(dataset, arm):
        return f"tuned on surrogate data ({len(method_class.grid)} settings)"
    return "; ".join(method_class.constants) or "not stated"


def column_words(column: tuple[str, bool]) -> str:
    return f"epsilon = {column[0]}" + (", tuned on synthetic surrogate data" if column[1] else "")


def higher(metric: str) -> bool:
    return METRICS[metric].direction is UP
