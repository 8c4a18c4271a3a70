"""What the ledgers of the score rows hold."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from papers.raisa2021thesis import PAPER, models, run
from privacy.accountants import epsilon_of


def test_the_share_of_cut_rows_is_a_release_without_noise():
    model = models.MODELS["flat_banana_2d"]
    setting = run.setting_of("flat_banana_2d", "dp_penalty")
    *chain, share = run.with_share(setting, model, 56, np.random.default_rng(0))
    assert [e.what for e in chain] == ["sum of log-likelihood ratios over their bound"]
    assert (share.mechanism, share.steps, share.sensitivity) == ("no_noise", 56, math.inf)
    assert epsilon_of(run.with_share(setting, model, 56, np.random.default_rng(0)), model.delta).epsilon == math.inf


@pytest.mark.parametrize("name", ["flat_banana_2d.dp_penalty", "gauss_30d.dp_hmc"])
def test_committed_rows_charge_it_to_the_share_alone(name):
    rows = pd.read_csv(PAPER.reference / "scores" / f"{name}.csv.gz", dtype=str, keep_default_na=False)
    shares = rows["metric"] == run.SHARE
    assert shares.any()
    assert set(rows.loc[shares, "ledger_epsilon"]) == {"inf"}
    asked = rows["setting"].str.extract(r"epsilon=(\d+)")[0].astype(float)
    assert (rows.loc[~shares, "ledger_epsilon"].astype(float) <= asked[~shares]).all()
    for row in rows.to_dict("records"):
        last = json.loads(row["ledger"])[-1]["mechanism"]
        assert (last == "no_noise") is (row["metric"] == run.SHARE)
