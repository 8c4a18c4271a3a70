import numpy as np
import pytest

from datasets.protocols import given_folds


def test_the_first_numbers():
    """16807 x 111181825 mod (2^31 - 1), and so on: by hand."""
    assert given_folds.stream(3).tolist() == [322159885, 734913108, 1506152259]
    assert 111_181_825 * 16_807 % (2**31 - 1) == 322159885


def test_ten_and_more_rows():
    order, of = given_folds.order_and_folds(10)
    assert order.tolist() == [8, 7, 0, 6, 1, 2, 3, 4, 5, 9]
    assert of.tolist() == [6, 3, 7, 5, 8, 9, 4, 10, 2, 1]
    order, of = given_folds.order_and_folds(23)
    assert order[:8].tolist() == [22, 8, 7, 0, 14, 11, 15, 6]
    assert of[:8].tolist() == [10, 4, 4, 3, 9, 8, 3, 7]


@pytest.mark.parametrize("n", [10, 11, 159, 1599])
@pytest.mark.parametrize("name", ["wine", "concrete"])
def test_folds_are_a_partition(name, n):
    tests = [given_folds.split(name, "given_folds", n, i)[1] for i in range(10)]
    assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(n))
    assert {len(t) - n // 10 for t in tests} <= {0, 1}
    train, test = given_folds.split(name, "given_folds", n, 4)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(n))


def test_shuffled_tables_follow_their_order():
    order, of = given_folds.order_and_folds(23)
    assert np.array_equal(given_folds.folds("wine", 23)[order], of)
    assert np.array_equal(given_folds.folds("concrete", 23), of)


@pytest.mark.parametrize(("n", "index"), [(9, 0), (100, 10), (100, -1)])
def test_what_there_is_no_fold_for(n, index):
    with pytest.raises(ValueError, match="fold"):
        given_folds.split("wine", "given_folds", n, index)
