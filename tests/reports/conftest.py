"""A small synthetic experiment: every published cell of the DP-SEP regression tables has a cell of ours."""

import contextlib
import copy
import json

import numpy as np
import pandas as pd
import pytest
import yaml

from datasets.files import csv_text
from evaluation.summary import COLUMNS
from reports import build as report
from reports import findings, published
from reports.verdicts import FINDING_COLUMNS, build

DATASETS = ["naval", "kin8nm", "power", "wine", "protein", "year"]
#: published tables that the experiment is about; those that its sources may get later are none of its business.
TABLES = [*(f"vinaroz2023dpsep:{t}" for t in "34589"), *(f"vinaroz2021dpsep:{t}" for t in "23")]
PRIVATE = "epsilon=1;delta=1e-5;clip="


def make_config():
    def answer(tables, method, setting="", readings=None, **more):
        readings = readings or {"printed": {"method": method, "protocol": "authors"}}
        return {
            "source": "vinaroz2023dpsep",
            "tables": tables,
            "method": method,
            "setting": setting,
            "readings": readings,
        } | more

    def cell(method, label=""):
        return {"method": method, "label": label, "protocol": "authors"}

    answers = [answer(["3", "4"], m) for m in ("vi", "ep")]
    answers.append(answer(["3", "4"], "sep", also=[{"reading": "printed", "method": "sep", "protocol": "literature"}]))
    answers.append(answer(["3", "4"], "clipped_sep", "clip=1", {"printed": cell("clipped_sep", "clip=1")}))
    answers.append(answer(["3", "4"], "dp_vi", "epsilon~1;delta=1e-5", {"printed": cell("dp_vi_vinaroz")}))
    answers.append(answer(["5"], "point_estimate"))
    for c in ("1", "2", "3", "4", "5", "10"):
        readings = {"printed": cell("dp_sep", f"clip={c}"), "authors": cell("dp_sep_authors", f"clip={c}")}
        tables = ["3", "4", "8", "9"] if c == "1" else ["8", "9"]
        answers.append(answer(tables, "dp_sep", PRIVATE + c, readings))
    return {
        "experiment": "dpsep_uci",
        "title": "test",
        "sources": ["vinaroz2023dpsep", "vinaroz2021dpsep"],
        "tables": TABLES,
        "datasets": DATASETS,
        "protocols": {"authors": {"splits": 10}, "literature": {"splits": {"by_dataset": {"default": 10, "year": 5}}}},
        "model": {"kind": "bnn_regression", "hidden": 50},
        "arms": [{"method": "sep", "protocols": ["authors", "literature"]}],
        "answers": answers,
        "scales": {"full": {}, "quick": {}, "tiny": {}},
    }


def cells_of(config):
    """(dataset, protocol, method, label, published row) of every answered published cell."""
    numbers = published.load()
    out = {}
    for a in config["answers"]:
        rows = numbers[
            (numbers["source"] == a["source"])
            & numbers["table"].isin(a["tables"])
            & (numbers["method"] == a["method"])
            & (numbers["setting"] == a["setting"])
        ]
        for answer in [*a["readings"].values(), *a.get("also", [])]:
            for _, row in rows.iterrows():
                key = (row["dataset"], answer["protocol"], answer["method"], answer.get("label", ""), row["metric"])
                out.setdefault(key, row)
    return out


def make_scores(config, scale="full", n=10, seed=0):
    """Scores whose mean is the printed number and whose spread is 1 % of it."""
    rng = np.random.default_rng(seed)
    rows = []
    for (dataset, protocol, method, label, metric), cell in cells_of(config).items():
        for k in range(n):
            value = float(cell["mean"]) * (1 + 0.01 * rng.standard_normal())
            epsilon = {"dp_sep": "0.9", "dp_sep_authors": "inf"}.get(method, "")
            rows.append(
                dict.fromkeys(COLUMNS, "")
                | {
                    "cell": f"dpsep_uci-{dataset}-{protocol}-{method}-{label}",
                    "experiment": "dpsep_uci",
                    "dataset": dataset,
                    "protocol": protocol,
                    "method": method,
                    "setting": label,
                    "split": str(k),
                    "metric": metric,
                    "value": repr(float(value)),
                    "unit": "target" if metric == "rmse" else "nats",
                    "status": "ok",
                    "epsilon": epsilon,
                    "delta": "1e-05" if epsilon else "",
                    "relation": "add_remove" if epsilon else "",
                    "accountant": "pld" if epsilon else "",
                    "scale": scale,
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture(scope="session")
def base():
    """(config, scores), made once; tests that change them take the copies below."""
    config = make_config()
    return config, make_scores(config)


@pytest.fixture
def config(base):
    return copy.deepcopy(base[0])


@pytest.fixture
def scores(base):
    return base[1].copy()


@pytest.fixture(scope="session")
def all_verdicts(base):
    return build(*base, "full", findings=pd.DataFrame(columns=FINDING_COLUMNS))


@pytest.fixture
def scores_of():
    """``scores_of(config, n=...)``: synthetic scores for any config."""
    return make_scores


@pytest.fixture(scope="session")
def project(base, tmp_path_factory):
    """config/, results/ of a full run whose arms are those of the scores, and a folder for the reference."""
    config, scores = base
    root = tmp_path_factory.mktemp("project")
    (root / "config").mkdir()
    (root / "results" / "scores" / "dpsep_uci").mkdir(parents=True)
    (root / "results" / "fits").mkdir()
    (root / "results" / "data").mkdir()
    (root / "results" / "manifest.json").write_text(
        json.dumps({"commit": "c", "host": "h", "versions": {"numpy": "2"}})
    )
    path = root / "config" / "dpsep_uci.yaml"
    config = config | {"protocols": {"authors": {"splits": 10}, "literature": {"splits": 10}}}
    path.write_text(yaml.safe_dump(config))
    for dataset, rows in scores.groupby("dataset"):
        (root / "results" / "scores" / "dpsep_uci" / f"{dataset}.csv").write_text(csv_text(rows))
    return root


@pytest.fixture(scope="session")
def filled_once():
    """``with filled_once():`` findings on the committed reference are filled once for all pages of the tests."""
    fill, kept = findings.fill, {}

    @contextlib.contextmanager
    def sharing():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                findings, "fill", lambda path, tables: kept.get(path) or kept.setdefault(path, fill(path, tables))
            )
            yield

    return sharing


@pytest.fixture(scope="session")
def built(project, filled_once):
    """The project with its report."""
    args = ["all", "--config", str(project / "config/dpsep_uci.yaml"), "--results", str(project / "results")]
    with filled_once():
        assert report.main([*args, "--scale", "full", "--reference", str(project / "reference")]) == 0
    return project
