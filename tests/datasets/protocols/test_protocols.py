"""Protocols are found by scanning, and say what they are."""

import pytest

from datasets import protocols


def test_every_protocol_is_found_with_its_law():
    found = protocols.names()
    assert {"literature", "authors", "published_tail", "folds", "given_folds", "thirds", "simulated_truth"} <= set(
        found
    )
    assert "rounded" not in found  # no law of splits
    for name in found:
        assert callable(protocols.home(name).split)
    with pytest.raises(KeyError, match="unknown protocol 'hold_out'; datasets/protocols/ has authors, "):
        protocols.home("hold_out")


def test_only_simulated_data_sets_with_their_truth_are_scored_together():
    assert [p for p in protocols.names() if protocols.pooled(p)] == ["simulated_truth"]
