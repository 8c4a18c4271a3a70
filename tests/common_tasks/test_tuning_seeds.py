"""Choices on further surrogates: what is compared, and a choice that the script repeats."""

import json

import numpy as np
import pandas as pd

import datasets
from common_tasks import tuning_seeds as seeds
from common_tasks.tuning import SEED, choose, surrogate
from methods import contract
from models.bounded import BoundedLinearRegression


def test_what_is_lost_and_gained():
    grid = ({}, {"a": 1}, {"a": 2})
    committed = {"1": {"settings": {"a": 1}}, "8": {"settings": {}}}
    again = {
        "1": {"settings": {"a": 2}, "scores": [-3.0, -2.5, -2.0]},
        "8": {"settings": {}, "scores": [-1.0, None, -2]},
    }
    assert seeds.compared(committed, again, grid) == [(False, False, 0.5, 0.5), (True, True, 0.0, 0.0)]


def test_the_committed_seed_gives_the_committed_choice():
    """So the script asks what the tuning asked."""
    about, method = datasets.get("wine"), contract.get("whitened_ssp", seeds.KIND)
    made_up = surrogate(about, BoundedLinearRegression(), about.n_rows, np.random.default_rng(SEED))
    made = choose(method, made_up, list(seeds.EPSILONS), seeds.DELTA)
    committed = json.loads(seeds.CHOSEN.read_text())["wine"]["whitened_ssp"]
    assert {e: m["settings"] for e, m in made.items()} == {e: m["settings"] for e, m in committed.items()}
    assert SEED not in seeds.SEEDS


def test_the_committed_table_has_all_choices():
    found = pd.read_csv(seeds.TABLE)
    assert tuple(found.columns) == seeds.COLUMNS
    assert tuple(found["method"]) == seeds.METHODS
    assert (found["choices"] == len(seeds.DATASETS) * len(seeds.SEEDS) * len(seeds.EPSILONS)).all()
