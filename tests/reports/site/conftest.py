"""A site of one paper that judges its own numbers, whose runs stand on the rows of its cells, and of advice."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import datasets
from methods import contract
from reports import claims, style
from reports.blocks import Block, Figure, Table, entry
from reports.contents import Advice, AdviceSection
from reports.published import KEY
from reports.site import build, cells, dataset_pages, method_pages
from reports.site.__main__ import from_reference
from reports.site.content import Content, Part, verdicts_of

RUNS = np.random.default_rng(0).normal(1.0, 0.1, 40)


def verdicts():
    """Two published numbers, read twice; the second has no score as it is printed."""
    rows = []
    for dataset in ("a", "b"):
        for reading in ("printed", "authors"):
            key = dict(zip(KEY, ("someone", "results", dataset, "ssp", "epsilon=1", "mse"), strict=True))
            row = key | {"reading": reading, "our_method": "ssp", "published_mean": "1.05", "headline": "yes"}
            row |= {"verdict": "compatible", "mean": RUNS.mean(), "std": RUNS.std(), "n": 40, "p": 0.4, "p_kind": "t"}
            if (dataset, reading) == ("b", "printed"):
                row |= {"verdict": "no_data", "mean": np.nan, "std": np.nan, "n": np.nan, "reason": "no file"}
            rows.append(row)
    return verdicts_of(pd.DataFrame(rows))


@pytest.fixture(scope="session")
def committed(tmp_path_factory, filled_once):
    """What the whole site shows, from the committed reference, without tables and figures: about 5 CPU seconds."""
    with filled_once():
        return from_reference(tmp_path_factory.mktemp("committed"), drawn=False)


@pytest.fixture(scope="session")
def housed(tmp_path_factory):
    """The folder of the site; of methods and data sets it has one each."""
    files = tmp_path_factory.mktemp("housed")
    with style.canvas(1, 1) as (figure, axes):
        axes[0, 0].plot([0, 1], [0, 1])
        style.save(figure, files / "figures" / "drawn", pd.DataFrame({"x": [0, 1]}))
    (files / "tables").mkdir()
    for end in ("csv", "md", "tex"):
        (files / "tables" / f"scores.{end}").write_text("method,score\nDPVI,0.5\n")
    frame = verdicts()
    told = [r for r in frame.to_dict("records") if r["verdict"] != "no_data"]
    runs = {(*(r[k] for k in KEY), r["reading"]): RUNS for r in told}
    drawn = [Figure("drawn", "A figure", "What it shows.")]
    none = pd.DataFrame(columns=claims.COLUMNS)
    part = Part("someone", "Someone 2018", {"someone": "Someone 2018"}, "./bench someone", frame, none,
                figures=drawn, judged="so", runs=runs)  # fmt: skip
    table = Table("scores", "Scores", "", [Block("", "Method", ["score"], [("DPVI", [entry("0.5")])])])
    section = AdviceSection(
        "t",
        "Task",
        "Take DPVI.",
        ["So.", "Few."],
        "| method | score |\n|:--|:--|\n| DPVI | 0.5 |",
        tables=[table],
        figures=drawn,
        answers=[["1", "DPVI or VI", "0.90", "0.01", ""]],
    )
    advice = Advice([section], notes=("How it is read.",))
    content = Content("t", "full", "full scale", "made up", files, [part], [], [], advice, pd.DataFrame(),
                      pd.DataFrame(), {})  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "SECTIONS", 1)
        only(patch, "bayes_by_backprop", "wine")
        build.write(files / "report", content)
    return files / "report"


def only(patch, method: str, dataset: str) -> None:
    """Of methods and data sets the site has one each."""
    few = SimpleNamespace(**vars(contract) | {"names": lambda: [method]})
    patch.setattr(method_pages, "contract", few)
    patch.setattr(dataset_pages, "datasets", SimpleNamespace(names=lambda: [dataset], get=datasets.get))
