"""Cells from the config of an experiment.

A cell is (experiment, data set, protocol, method, setting) on all splits. Everything that it needs is resolved here
once: model, hyper-parameters, budget, splits and seeds.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import datasets
from datasets import protocols, yaml_file
from datasets.files import ROOT
from evaluation.arms import ABLATION, written_out
from methods import contract
from models import kind as model_kinds
from privacy.budget import BudgetSpec
from workflow import papers, published
from workflow.imports import code_hash, files

SCALES = ("full", "quick", "tiny")
SEED_VERSION = "dpbayes-bench 1"
#: at most this many cells per experiment, and bytes per name of a cell, which becomes a name of files.
MOST_CELLS, LONGEST_ID = 10_000, 200
#: limits where an experiment names none. The dearest committed request takes 400 s, several times that on a busy
#: machine, and the largest peak, but for EP at the shape of Year, is 2.6 GB.
TIMEOUT_S, REQUEST_TIMEOUT_S, MEM_MB = 3600.0, 3600.0, 4000
#: modules that fit, draw and score every cell.
SCORING = ("workflow.worker", "workflow.draws", "workflow.score")


class ConfigError(ValueError):
    """The config asks for something that the suite cannot do. The message names file, key and remedy."""


@dataclass(frozen=True)
class Cell:
    """A method at one setting on one data set under one split protocol, on all splits."""

    experiment: str
    dataset: str
    protocol: str
    method: str
    setting: str
    model: tuple[tuple[str, Any], ...]
    settings: tuple[tuple[str, Any], ...]
    budget: tuple[tuple[str, Any], ...]
    splits: int
    scale: str
    timeout_s: float
    #: cells of one family differ in their budget only, or read one run. They are fitted together, split by split.
    #: Empty for all other cells.
    family: str = ""
    #: limits of a job: seconds of a request of many fits (``timeout_s`` is that of one fit), megabytes of its worker.
    request_timeout_s: float = REQUEST_TIMEOUT_S
    mem_mb: int = MEM_MB
    #: number of ranges of splits that are fitted by separate Snakemake jobs; 1: the job fits all its splits.
    chunks: int = 1
    #: whether the experiment asks for the coverage of predictive intervals, if its kind of model has them.
    intervals: bool = False
    #: whether the experiment asks for scores of a rare class, see ``evaluation.case.Case``.
    rare_class: bool | str = False
    #: whether the experiment asks for the diagnostics of fits as scores, if its kind of model keeps none.
    diagnostics: bool = False

    @property
    def values(self) -> dict:
        """All that the numbers of the cell depend on besides code and data. It is stored with the fits."""
        axes = ("experiment", "dataset", "protocol", "method", "setting", "model", "settings", "budget", "splits")
        return {k: dict(v) if isinstance(v := getattr(self, k), tuple) else v for k in axes}

    @cached_property
    def id(self) -> str:
        """A readable prefix and a short hash of the settings."""
        text = json.dumps(self.values, sort_keys=True)
        words = [self.experiment, self.dataset, self.protocol, self.method, self.setting]
        return _slug(*words) + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def job(self) -> str:
        """The name of the Snakemake job that fits the cell: experiment, data set, and the method whose run it reads."""
        return _slug(self.experiment, self.dataset, self.run_of)

    @property
    def run_of(self) -> str:
        """The method whose run this method reads, or its own name."""
        return self.adapter().run_of or self.method

    def adapter(self):
        """The method for this cell's kind of model."""
        return contract.get(self.method, self.kind)

    @property
    def kind(self) -> str:
        """The name of the kind of model."""
        return dict(self.model)["kind"]

    @property
    def about(self) -> model_kinds.Kind:
        """The record of the kind of model."""
        return model_kinds.kind(self.kind)

    @property
    def drawn(self) -> bool:
        """Whether the scores need many draws of the posterior (``workflow.draws``)."""
        return bool(self.about.draws)

    @property
    def _roots(self) -> tuple[str, str, str]:
        return (
            contract.module_of(self.method, self.kind),
            self.about.model.__module__,
            protocols.home(self.protocol).__name__,
        )

    @property
    def files(self) -> list[str]:
        """Files of the code that the fit depends on, relative to the root."""
        return files(*self._roots)

    @property
    def code_hash(self) -> str:
        """A hash of the code that the fit depends on. Existing rows are used only if they have this hash."""
        return code_hash(*self._roots)

    @property
    def own_files(self) -> list[str]:
        """Files in methods/ of the method, of what it imports, and of the method whose run it reads."""
        made = files(contract.module_of(self.method, self.kind), contract.module_of(self.run_of, self.kind))
        return [f for f in made if f.startswith("methods/") and f != "methods/contract.py"]

    @property
    def score_roots(self) -> frozenset[str]:
        """Modules from which all code that the score rows depend on is reached.

        Besides the fit, these are the run that it reads, the rebuilt posterior, the public facts of the data set, the
        worker, draws and scores. The rows of the data set are not among them, because each score row has their hash.
        """
        read = contract.module_of(self.run_of, self.kind)
        return frozenset({*self._roots, read, f"datasets.{self.dataset}", *self.about.modules, *SCORING})

    def seed(self, split: int, role: str) -> list[int]:
        """Entropy of a SeedSequence. Adding a method or a data set changes no other seed.

        The setting is not part of it: settings of one method share their random numbers, which reduces the variance of
        their differences. Methods that read the same run share them too. ``role`` separates fit, noise and prediction.
        """
        maker = contract.get(self.run_of, self.kind)
        name = maker.seed_name or maker.name
        text = "|".join([SEED_VERSION, self.dataset, self.protocol, name, str(split), role])
        digest = hashlib.sha256(text.encode()).digest()
        return [int.from_bytes(digest[k : k + 4], "little") for k in range(0, 16, 4)]

    @property
    def pooled(self) -> bool:
        """Whether the cell has numbers over all its splits, such as the coverage over simulated data sets."""
        return protocols.pooled(self.protocol)

    def chunk(self, number: int) -> range:
        """The splits of one of its :attr:`chunks`, which are numbered from 1. Empty above their number."""
        start, end = (self.splits * k // self.chunks for k in (number - 1, number))
        return range(start, min(end, self.splits))

    def split_rows(self, data, split: int):
        """Training and test rows of one split of the loaded data set, by this cell's protocol."""
        return protocols.home(self.protocol).split(self.dataset, self.protocol, len(data.y), split, data.authors_order)

    def build_model(self):
        values = dict(self.model)
        return model_kinds.kind(values.pop("kind")).model(**values)

    def build_settings(self):
        return self.adapter().Settings(**dict(self.settings))

    def build_budget(self) -> BudgetSpec:
        return BudgetSpec(**dict(self.budget))


def _slug(*words: str) -> str:
    return "-".join(re.sub(r"[^a-z0-9.]+", "_", w) for w in words if w)


def _grouped(of: Iterable[Cell], name: Callable[[Cell], str]) -> dict[str, list[Cell]]:
    """Name -> its cells. Cells without a name are left out."""
    out: dict[str, list[Cell]] = {}
    for cell in of:
        if key := name(cell):
            out.setdefault(key, []).append(cell)
    return out


def families(of: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Family -> its cells. Cells without a family are left out."""
    return _grouped(of, lambda cell: cell.family)


def units(of: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Cells that are fitted together: each family by its name, and each other cell by its id."""
    return _grouped(of, lambda cell: cell.family or cell.id)


def jobs(of: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Cells by the Snakemake job that fits them, in the order of :func:`units`."""
    return _grouped(of, lambda cell: cell.job)


def _freeze(v):
    return tuple(_freeze(x) for x in v) if isinstance(v, list | tuple) else v


def by_dataset(value: Any, dataset: str, where: str) -> Any:
    """The value for one data set of ``{by_dataset: {wine: 1, default: 2}}``; any other value unchanged."""
    if isinstance(value, dict) and set(value) == {"by_dataset"}:
        table = value["by_dataset"]
        if not isinstance(table, dict):
            raise ConfigError(f"{where}.by_dataset is {table!r}; give data set: value")
        if dataset in table:
            return table[dataset]
        if "default" in table:
            return table["default"]
        raise ConfigError(f"{where}: no value for data set '{dataset}' and no 'default'; add one of them")
    if isinstance(value, dict):
        return {k: by_dataset(v, dataset, f"{where}.{k}") for k, v in value.items()}
    return value


@cache
def _checker():
    """The validator of the schema. Unlike JSON Schema, it does not take 3.0 for an integer."""
    from jsonschema import Draft202012Validator, validators

    whole = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, v: _fits(v, "int"))
    schema = json.loads((ROOT / "workflow/schemas/experiment.schema.json").read_text())
    return validators.extend(Draft202012Validator, type_checker=whole)(schema)


@cache
def load(path: str | Path) -> dict:
    """Read and check one experiment file. Raises :class:`ConfigError` with file, key and remedy."""
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"no experiment file {path}; the papers have {', '.join(papers.experiments())}")
    config = yaml_file.read(path, ConfigError)
    errors = sorted(_checker().iter_errors(config), key=lambda e: list(map(str, e.path)))
    if errors:
        e = errors[0]
        text, hint = str(e.instance), ""
        if isinstance(e.instance, str) and re.search("number|integer", str(e.validator_value)):
            if re.fullmatch(r"-?\d+,\d+", text):
                hint = "; write a decimal point for the comma"
            elif re.fullmatch(r"-?[\d.]+[eE][-+]?\d+", text):
                hint = "; YAML reads it as text: write 1.0e-5 with its point and its sign"
        message = e.message if len(e.message) < 300 else f"{e.message[:150]} ... {e.message[-140:]}"
        raise ConfigError(f"{path}: {'.'.join(map(str, e.path)) or '(top)'}: {message}{hint}")
    if config["experiment"] != path.stem:
        raise ConfigError(f"{path}: experiment is '{config['experiment']}'; name it like the file, '{path.stem}'")
    if unknown := sorted(set(config["protocols"]) - set(protocols.names())):
        raise ConfigError(f"{path}: protocol '{unknown[0]}'; known: {', '.join(protocols.names())}")
    if config["model"]["kind"] not in model_kinds.kinds():
        raise ConfigError(f"{path}: model.kind '{config['model']['kind']}'; known: {', '.join(model_kinds.kinds())}")
    named = {f"scales.{scale}.datasets": size.get("datasets", []) for scale, size in config["scales"].items()}
    for key in ("arms", "ablations"):
        named |= {f"{key}.{k}.datasets": a.get("datasets", []) for k, a in enumerate(config.get(key, []))}
    for where, names in named.items():
        if unknown := [d for d in names if d not in config["datasets"]]:
            raise ConfigError(f"{path}: {where}: '{unknown[0]}' is not under datasets; add it there, too")
    config["scales"].setdefault("quick", config["scales"]["tiny"])
    for k, answer in enumerate(config["answers"]):
        if answer["source"] not in config["sources"]:
            raise ConfigError(f"{path}: answers[{k}]: source '{answer['source']}' is not among sources")
    if (many := sum(map(_grid, [*config["arms"], *config.get("ablations", [])]))) > MOST_CELLS:
        raise ConfigError(f"{path}: arms: {many} of them; write several experiments of at most {MOST_CELLS} cells")
    try:
        return {**config, **{k: written_out(config[k]) for k in ("arms", "ablations") if k in config}}
    except (TypeError, ValueError, OverflowError) as e:
        raise ConfigError(f"{path}: {e}") from None


def _grid(arm: dict) -> int:
    """The number of arms that a grid stands for, before they are written out."""
    grid = arm.get("budget_grid", {})
    return len(grid.get("orders", "1")) * max(1, len(grid.get("epsilons", ())), len(grid.get("log_epsilons", ())))


def cells(path: str | Path, scale: str) -> list[Cell]:
    """All cells of an experiment at a scale, in the order of the config."""
    if scale not in SCALES:
        raise ConfigError(f"scale '{scale}'; choose one of {', '.join(SCALES)}")
    config = load(path)
    size = config["scales"][scale]
    chosen = [d for d in config["datasets"] if d in size.get("datasets", config["datasets"])]
    kind = config["model"]["kind"]
    timeout_s = float(config.get("timeout_s", TIMEOUT_S))
    arms = list(config["arms"])
    extra = config.get("include_unlisted_methods") if size.get("unlisted", True) else None
    if extra:
        listed = {a["method"] for a in arms}
        if (many := len(contract.names(kind)) * _grid(extra)) > MOST_CELLS:
            raise ConfigError(f"{path}: include_unlisted_methods: {many} arms; give at most {MOST_CELLS}")
        try:
            arms += written_out([_unlisted(n, kind, extra) for n in contract.names(kind) if n not in listed])
        except ValueError as e:
            raise ConfigError(f"{path}: include_unlisted_methods: {e}") from None
        if "tuned" in config:
            arms += _tuned(ROOT / config["tuned"], extra, str(path))
    arms += [_ablation(a, str(path)) for a in config.get("ablations", [])]
    most = sum(len(a.get("datasets", chosen)) * len(a["protocols"]) for a in arms)
    if most > MOST_CELLS:
        raise ConfigError(f"{path}: {most} cells; write several experiments of at most {MOST_CELLS} cells")
    models = {d: _model(kind, by_dataset(config["model"], d, f"{path}: model"), f"{path}: model") for d in chosen}
    out: list[Cell] = []
    for arm in arms:
        where = f"{path}: arm {arm['method']} {arm.get('label', '')}".rstrip()
        if scale != "full" and not arm.get("quick", True):
            continue
        try:
            if contract.left_out(arm["method"], kind):  # the page names it: the others go on
                continue
            method = contract.get(arm["method"], kind)
        except KeyError as e:
            raise ConfigError(f"{where}: {e.args[0]}") from None
        for dataset in chosen:
            if dataset not in datasets.names():
                raise ConfigError(f"{path}: unknown data set '{dataset}'; datasets/ has {', '.join(datasets.names())}")
            if dataset not in arm.get("datasets", chosen):
                continue
            settings = _settings(method, by_dataset(arm.get("settings", {}), dataset, where), size, where)
            budget = by_dataset(arm.get("budget", {}), dataset, where)
            try:
                BudgetSpec(**budget)
            except (TypeError, ValueError) as e:
                raise ConfigError(f"{where}: {e}") from None
            for protocol in arm["protocols"]:
                if protocol not in config["protocols"]:
                    raise ConfigError(f"{where}: protocol '{protocol}'; known: {', '.join(config['protocols'])}")
                asked = by_dataset(arm.get("splits", config["protocols"][protocol]["splits"]), dataset, where)
                splits = min(asked, size.get("splits", asked))
                out.append(
                    Cell(
                        experiment=config["experiment"],
                        dataset=dataset,
                        protocol=protocol,
                        method=arm["method"],
                        setting=arm.get("label", ""),
                        model=models[dataset],
                        settings=tuple(sorted((k, _freeze(v)) for k, v in settings.items())),
                        budget=tuple(sorted((k, _freeze(v)) for k, v in budget.items())),
                        splits=splits,
                        scale=scale,
                        timeout_s=timeout_s,
                        request_timeout_s=float(config.get("request_timeout_s", max(timeout_s, REQUEST_TIMEOUT_S))),
                        mem_mb=int(config.get("mem_mb", MEM_MB)),
                        chunks=min(config.get("chunks", {}).get(method.run_of or method.name, 1), splits),
                        family=_slug(config["experiment"], dataset, protocol, arm["family"]) if "family" in arm else "",
                        intervals=config.get("intervals", False),
                        rare_class=config.get("rare_class", False),
                        diagnostics=config.get("diagnostics", False),
                    )
                )
    if unknown := sorted(set(config.get("chunks", {})) - set(contract.names(kind))):
        raise ConfigError(f"{path}: chunks: no method '{unknown[0]}' that fits {kind}; name one of its arms")
    if long := [c.id for c in out if len(c.id) > LONGEST_ID]:
        raise ConfigError(f"{path}: {long[0][:80]}... is a name of {len(long[0])} letters; give a shorter label")
    if scale == "full":
        _check_answers(config, out, str(path))
    keys = Counter((c.dataset, c.protocol, c.method, c.setting) for c in out)
    if twice := sorted(k for k, n in keys.items() if n > 1):
        raise ConfigError(f"{path}: two arms make the same cell {twice[0]}; give one of them another label")
    for group in families(out).values():
        if len(names := {c.method for c in group}) > 1 and len({c.run_of for c in group}) > 1:
            raise ConfigError(f"{path}: {', '.join(sorted(names))} do not read one run; give each an arm of its own")
    return out


def _check_answers(config: dict, of: list[Cell], where: str) -> None:
    """Raise ConfigError for an answer whose cell does not exist in the experiment, or belongs to an excluded method."""
    have = {(c.protocol, c.method, c.setting) for c in of}
    for k, answer in enumerate(config["answers"]):
        for cell in [*answer["readings"].values(), *answer.get("also", [])]:
            key = cell["protocol"], cell["method"], cell.get("label", "")
            if key not in have and not contract.left_out(cell["method"], config["model"]["kind"]):
                words = "protocol '{}', method '{}', label '{}'".format(*key)
                raise ConfigError(f"{where}: answers[{k}]: no arm has {words}")


_TYPES = {"int": int, "float": int | float, "bool": bool, "str": str}


def _fits(value: Any, annotation: str) -> bool:
    """Whether a field with this annotation may hold the value. True for annotations that are not known here."""
    if annotation.startswith("tuple[") and annotation.endswith(", ...]"):
        return all(_fits(v, annotation[6:-6]) for v in (value if isinstance(value, list | tuple) else [value]))
    words = annotation.split(" | ")
    if value is None or not set(words) <= {*_TYPES, "None"}:
        return "None" in words or not set(words) <= {*_TYPES, "None"}
    return any(
        isinstance(value, _TYPES[w]) and (isinstance(value, bool) == (w == "bool")) for w in words if w != "None"
    )


def _check_types(of: type, given: dict, where: str) -> None:
    """Raise ConfigError for a value that has the wrong type for its field."""
    for f in dataclasses.fields(of):
        kind = str(getattr(f.type, "__name__", f.type))
        if f.name in given and not _fits(given[f.name], kind):
            raise ConfigError(f"{where}: {f.name} is {given[f.name]!r}; it takes {kind}")


def _model(kind: str, given: dict, where: str) -> tuple[tuple[str, Any], ...]:
    """The fields of the model. The model is built once here, so that a wrong field does not become a failed fit."""
    model = model_kinds.kind(kind).model
    frozen = {k: _freeze(v) for k, v in given.items()}
    fields = {k: v for k, v in frozen.items() if k != "kind"}
    _check_types(model, fields, where)
    try:
        model(**fields)
    except (TypeError, ValueError, ArithmeticError) as e:
        raise ConfigError(f"{where}: {e}") from None
    return tuple(sorted(frozen.items()))


def _unlisted(name: str, kind: str, extra: dict) -> dict:
    """The arm of a method that the config does not name. A private method gets the budgets of the grid."""
    arm = {"method": name, **{k: v for k, v in extra.items() if k != "budget_grid"}}
    if "budget_grid" not in extra:
        return {"budget": {}, **arm}
    if contract.get(name, kind).privacy is None:
        return {k: v for k, v in arm.items() if k != "budget"}
    return arm | {"budget_grid": extra["budget_grid"]}


def _ablation(arm: dict, where: str) -> dict:
    """The arm of an ablation, for the full scale only. Its setting begins with ``ABLATION``."""
    if not arm.get("label"):
        raise ConfigError(f"{where}: ablation of {arm['method']}: give it a label that says what differs")
    family = {"family": f"{ABLATION} {arm['family']}"} if "family" in arm else {}
    return {**arm, **family, "label": f"{ABLATION};{arm['label']}", "quick": False}


def _tuned(path: Path, extra: dict, where: str) -> list[dict]:
    """Arms with the settings that ``common_tasks.tuning`` chose on surrogates; none if these are the defaults."""
    if not path.is_file():
        raise ConfigError(
            f"{where}: tuned: no file {path}; make it with `python -m common_tasks.tuning --config {where}`"
        )
    chosen: dict[tuple[str, str], dict] = {}
    try:
        for dataset, methods in json.loads(path.read_text(encoding="utf-8")).items():
            for name, budgets in methods.items():
                for epsilon, found in budgets.items():
                    if float(epsilon) > 0 and found["settings"]:
                        chosen.setdefault((name, epsilon), {})[dataset] = dict(found["settings"])
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        made = f"`python -m common_tasks.tuning --config {where}`"
        raise ConfigError(f"{where}: tuned: {path} is not what {made} writes ({type(e).__name__}: {e})") from None
    out = []
    for (name, epsilon), table in sorted(chosen.items(), key=lambda item: (item[0][0], float(item[0][1]))):
        arm = {"method": name, "label": f"tuned;epsilon={epsilon}", "quick": False, "datasets": list(table)}
        arm |= {"settings": {"by_dataset": table}, "budget": {**extra["budget"], "epsilon": float(epsilon)}}
        out.append(arm | {k: extra[k] for k in ("protocols", "splits") if k in extra})
    return out


def _settings(method, given: dict, size: dict, where: str) -> dict:
    """All fields of the method's Settings, given or default, cut to the caps of the scale.

    A field that was added after cells were committed (``metadata={"later": True}``) is left out at its default, so that
    the ids of those cells do not change.
    """
    fields = {f.name: f for f in dataclasses.fields(method.Settings)}
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise ConfigError(f"{where}: unknown setting '{unknown[0]}'; {method.name} knows {', '.join(fields) or 'none'}")
    _check_types(method.Settings, given, where)
    try:
        values = dataclasses.asdict(method.Settings(**given))
    except (TypeError, ValueError) as e:
        raise ConfigError(f"{where}: {e}") from None
    except (Exception, SystemExit) as e:
        raise ConfigError(f"{where}: {type(e).__name__}: {e}") from None
    for name, cap in size.get("at_most", {}).items():
        if isinstance(values.get(name), int | float) and not isinstance(values[name], bool):
            values[name] = min(values[name], cap)
            _check_types(method.Settings, {name: values[name]}, f"{where}: scales: at_most")
    return {k: v for k, v in values.items() if not (fields[k].metadata.get("later") and v == fields[k].default)}


def check_published(of: Iterable[papers.Paper], scale: str = "full") -> None:
    """Check the published numbers of these papers. Raises ConfigError with file, row and key."""
    for paper in of:
        configs = {p: load(os.path.relpath(p)) for p in paper.experiments.values()}  # as `experiment_files` names it
        try:
            published.check(paper.home, configs, scale)
        except published.PublishedError as e:
            raise ConfigError(str(e)) from None


def experiment_files() -> list[str]:
    """All experiment files of the project, relative to its root."""
    return [str(p.relative_to(ROOT)) for p in papers.experiments().values()]
