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


@pytest.mark.parametrize("protocol", ["literature", "authors", "thirds"])
def test_the_overlap_of_random_splits_is_that_of_their_sizes(protocol):
    train, test = protocols.home(protocol).split("wine", protocol, 900, 0)
    assert protocols.overlap(protocol) == len(test) / len(train)


@pytest.mark.parametrize(
    ("protocol", "name", "n"), [("repeats", "adult_complete", 45222), ("official", "mnist_digits", 70000)]
)
def test_runs_on_one_split_have_no_overlap_to_widen_by(protocol, name, n):
    (first, _), (second, _) = (protocols.home(protocol).split(name, protocol, n, k) for k in (0, 1))
    assert first.tolist() == second.tolist()
    assert protocols.overlap(protocol) == 0


def test_replicates_share_no_row():
    first, second = (protocols.home("replicates").split("mixture_of_gaussians", "replicates", 4000, k) for k in (0, 1))
    assert not {*first[0].tolist(), *first[1].tolist()} & {*second[0].tolist(), *second[1].tolist()}
    assert protocols.overlap("replicates") == 0
