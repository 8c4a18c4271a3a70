"""The committed table of the exact posterior's cost."""

import pandas as pd

from benchmarks import release_posterior as bench


def test_every_epsilon_has_both_kinds_of_moves_and_small_ones_need_the_non_centred():
    found = pd.read_csv(bench.TABLE)
    own = found[found["n"] == bench.ROWS].pivot(index="epsilon", columns="moves", values="ess_per_second")
    assert tuple(own.index) == bench.EPSILONS
    small = own.loc[[0.1, 0.5, 1.0]]
    assert (small[bench.NON_CENTRED] > 2 * small[bench.ROWS_ONLY]).all()
    assert (found["seconds"] > 0).all()
    larger = found[found["n"] != bench.ROWS]
    assert [(n, s // bench.CHAINS) for n, s in larger[["n", "sweeps"]].to_numpy()] == list(bench.SIZES)
    assert larger["rhat"].iloc[-1] < 1.01 < larger["rhat"].iloc[-2]
