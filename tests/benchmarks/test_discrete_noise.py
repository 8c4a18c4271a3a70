"""The committed table is whole, and the page on epsilon says what it says."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import discrete_noise as bench
from privacy.discrete import SLACK

PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/epsilon.md"
TITLES = {
    "SSP": "sufficient_statistics_perturbation", "AdaSSP": "adassp", "Whitened SSP": "whitened_ssp",
    "DP-EM, mixture": "dp_em_corrected",
}  # fmt: skip


def committed():
    found = pd.read_csv(bench.TABLE, keep_default_na=False, na_values={c: [""] for c in ("value", "low", "high")})
    return found.set_index(["measure", "noise", "method", "data"])


def test_the_committed_table_is_whole_and_within_what_the_proof_allows():
    found = committed()
    for data in bench.DATA:
        for arm in bench.ARMS:
            told = found.xs((arm, data), level=("method", "data"))
            assert set(told.index.get_level_values("measure")) == {
                "score", "spread", "impossible", "mistaken", "fits", "rounding"
            }  # fmt: skip
            assert told.loc[("mistaken", "double"), "value"] == 0
            assert told.loc[("rounding", ""), "value"] < SLACK


def test_the_page_shows_this_table():
    found, page = committed(), PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w, -]+) \| (Kin8nm|Protein) \| (\S+) \[(\S+), (\S+)\] \| (\d+) \|$", page, re.MULTILINE)
    assert {(TITLES[title], data.lower()) for title, data, *_ in rows} == {
        (a, d) for a in bench.ARMS for d in bench.DATA
    }
    for title, data, *numbers, exposed in rows:
        score = found.loc[("score", "difference", TITLES[title], data.lower())]
        np.testing.assert_allclose(
            [float(v) for v in numbers], score[["value", "low", "high"]].to_numpy(float), atol=6e-5
        )
        assert score["low"] < 0 < score["high"]  # "No difference is significant."
        assert int(exposed) == round(20 * found.loc[("fits", "double", TITLES[title], data.lower()), "value"])
    slow, quick = re.search(r"takes (\S+) microseconds instead of (\S+)\.\s", page).groups()
    for noise, told in (("discrete", slow), ("double", quick)):
        assert float(told) == float(f"{found.loc[('time', noise, 'gaussian', ''), 'value']:.2g}")
    moved = re.search(r"moves a sum by at most (\S+) of its sensitivity", page)[1]
    assert float(moved) == float(f"{found.xs('rounding', level='measure')['value'].max():.2g}")
