"""The fast normal stream: its functions are accurate, its draws are normal and independent, and its law is checked.

Statistical tests state their false-alarm rate; the seeds are 0, 1 and 2 because they come first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy import stats

from privacy import normal
from privacy.audit import Recorder
from privacy.budget import GENERATOR, BudgetExceeded, BudgetSpec
from privacy.ledger import Relation, Sampling

RNG = np.random.default_rng
ALPHA = 1e-4
TAIL_DRAWS = 20_000_000


def draws(seed: int, n: int, scale: float = 1.0) -> np.ndarray:
    out = np.empty(n)
    normal.NormalStream(RNG(seed)).fill(out, scale)
    return out


@njit
def logs(u):
    out = np.empty_like(u)
    for i in range(u.size):
        out[i] = normal.log(u[i])
    return out


@njit
def sines_cosines(x):
    out = np.empty((2, x.size))
    for i in range(x.size):
        out[0, i], out[1, i] = normal.sin_cos(x[i])
    return out


def law_fails(z: np.ndarray) -> list[str]:
    """Which tests of N(0, 1) fail; each with a false-alarm rate of ALPHA, four in all."""
    n = len(z)
    p = {
        "mean": 2 * stats.norm.sf(abs(z.sum()) / np.sqrt(n)),
        "variance": 2 * min(stats.chi2.cdf(z @ z, n), stats.chi2.sf(z @ z, n)),
        "kurtosis": 2 * stats.norm.sf(abs((z**4).mean() - 3) / np.sqrt(96 / n)),  # var of z^4 is 105 - 9
        "kolmogorov": stats.kstest(z, "norm", method="asymp").pvalue,
    }
    return [name for name, value in p.items() if value < ALPHA]


def tails_fail(batches) -> list[str]:
    """Exact two-sided binomial tests of both tails at 3, 4 and 5 sigma over all batches; six at ALPHA each."""
    counts, n = np.zeros((2, 3), dtype=np.int64), 0
    for z in batches:
        far = z[np.abs(z) > 3]
        counts += [[(side * far > sigma).sum() for sigma in (3, 4, 5)] for side in (1, -1)]
        n += len(z)
    return [
        f"{'upper' if i == 0 else 'lower'} {sigma} sigma"
        for i in range(2)
        for j, sigma in enumerate((3, 4, 5))
        if stats.binomtest(int(counts[i, j]), n, stats.norm.sf(sigma)).pvalue < ALPHA
    ]


def batches(seed: int, n: int, size: int = 1_000_000):
    stream, out = normal.NormalStream(RNG(seed)), np.empty(size)
    for _ in range(n // size):
        stream.fill(out, 1.0)
        yield out


def test_logarithm_is_accurate():
    """NumPy's logarithm is within one unit in the last place (2.2e-16 relative), fdlibm's too: 1e-15 holds both."""
    grid = 2.0 - (1.0 + np.arange(1, 5000) * 2.0**-52)  # the numbers next to 1, where cancellation would show
    u = np.concatenate([RNG(0).random(200_000), 2.0 ** -np.arange(1.0, 53), grid, [np.nextafter(np.sqrt(0.5), 0)]])
    u = u[u > 0]
    np.testing.assert_allclose(logs(u), np.log(u), rtol=1e-15, atol=0)
    assert logs(np.ones(1))[0] == 0.0


def test_sine_and_cosine_are_accurate():
    x = np.linspace(-np.pi / 4, np.pi / 4, 200_001)
    np.testing.assert_allclose(sines_cosines(x), [np.sin(x), np.cos(x)], rtol=0, atol=1e-15)


def test_the_bits_are_those_of_xoshiro256plusplus():
    """Against the published algorithm in Python integers, on every lane; and the published first outputs."""
    mask = 2**64 - 1

    def rotl(v, k):
        return ((v << k) | (v >> (64 - k))) & mask

    def reference(s, count):
        s, out = [int(v) for v in s], []
        for _ in range(count):
            out.append((rotl((s[0] + s[3]) & mask, 23) + s[0]) & mask)
            t = (s[1] << 17) & mask
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= t
            s[3] = rotl(s[3], 45)
        return out

    # State 1, 2, 3, 4: the values that other implementations (the crate rand_xoshiro) test against.
    assert reference([1, 2, 3, 4], 4) == [41943041, 58720359, 3588806011781223, 3591011842654386]
    state = RNG(0).integers(0, 2**64, size=(4, normal.LANES), dtype=np.uint64)
    bits = np.empty(normal.BLOCK, dtype=np.uint64)
    flat = state.ravel().copy()
    normal._bits(flat, bits)
    for lane in range(normal.LANES):
        expected = np.array(reference(state[:, lane], normal.BLOCK // normal.LANES), dtype=np.uint64)
        np.testing.assert_array_equal(bits[lane :: normal.LANES], expected)


def test_the_transform_is_box_muller():
    """Same bits through NumPy: radius from the first half, the angle in a sector of four from the second."""
    bits = RNG(1).integers(0, 2**64, size=normal.BLOCK, dtype=np.uint64)
    out = np.empty(normal.BLOCK)
    normal._normals(bits, out, 1.5)
    first, second = np.split(bits, 2)
    radius = np.sqrt(-2 * np.log(1 - (first >> np.uint64(12)) * 2.0**-52))
    angle = np.pi / 2 * ((second >> np.uint64(12)) * 2.0**-52 - 0.5)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    x = np.where(second & np.uint64(1), -x, x)
    swap = (second & np.uint64(2)) != 0
    # 1e-13: a few roundings of numbers below 9, the logarithm's near 1 excepted, where its square root is small.
    expected = 1.5 * np.concatenate([np.where(swap, y, x), np.where(swap, x, y)])
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)


def test_extreme_bits_stay_finite():
    out = np.empty(normal.BLOCK)
    for word in (0, 2**64 - 1):
        normal._normals(np.full(normal.BLOCK, word, dtype=np.uint64), out, 1.0)
        assert np.isfinite(out).all()
    assert 6.0 < np.abs(out).max() < 8.5  # all bits set: the largest radius, at 45 degrees


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_draws_are_normal(seed):
    assert law_fails(draws(seed, 1_000_000)) == []


def test_the_two_numbers_of_a_pair_are_independent():
    """Products, and products of squares, of the two outputs of a Box-Muller pair; false-alarm rate 1e-4 each."""
    z = draws(0, 488 * normal.BLOCK).reshape(-1, 2, normal.BLOCK // 2)
    x, y = z[:, 0].ravel(), z[:, 1].ravel()
    for a, b, variance in ((x, y, 1.0), (x**2 - 1, y**2 - 1, 4.0), (x, y**2 - 1, 2.0), (x**2 - 1, y, 2.0)):
        assert 2 * stats.norm.sf(abs(a @ b) / np.sqrt(variance * len(a))) > ALPHA


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_correlation_at_any_near_lag(seed):
    """Lags 1 to 32 (two rounds of the lanes) of draws and of squares; 1e-4 in all (Bonferroni), both directions."""
    n = 1_000_000
    z = draws(seed, n)
    for values, variance in ((z, 1.0), ((z**2 - 1), 4.0)):
        scores = [values[:-lag] @ values[lag:] / (variance * np.sqrt(n - lag)) for lag in range(1, 33)]
        assert 2 * stats.norm.sf(np.abs(scores).max()) * 64 > ALPHA


def test_tails_have_the_probability_of_the_normal_and_all_draws_are_finite():
    finite = []

    def watched():
        for z in batches(0, TAIL_DRAWS):
            finite.append(bool(np.isfinite(z).all()))
            yield z

    assert tails_fail(watched()) == []
    assert all(finite)


def test_near_wrong_generators_are_rejected():
    """A scale 1 percent off (7 deviations of the variance's test), and tails cut at 4 sigma (633 draws expected)."""
    assert "variance" in law_fails(draws(0, 1_000_000, scale=1.01))
    assert "variance" in law_fails(draws(0, 1_000_000, scale=0.99))
    cut = tails_fail(np.clip(z, -4, 4) for z in batches(0, TAIL_DRAWS))
    assert {"upper 4 sigma", "lower 4 sigma"} <= set(cut)


def test_reproducible_and_seeds_differ():
    np.testing.assert_array_equal(draws(3, 5000), draws(3, 5000))
    assert not np.isin(draws(3, 5000), draws(4, 5000)).any()


def test_the_stream_does_not_depend_on_the_cuts():
    whole = draws(7, 20_000, scale=2.5)
    stream, parts = normal.NormalStream(RNG(7)), []
    for size in (0, 1, 2047, 2048, 2049, 0, 3, 4096, 1, 5000, 2048, 2707):
        parts.append(np.empty(size))
        stream.fill(parts[-1], 2.5)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_scale_is_applied():
    np.testing.assert_array_equal(draws(5, 3000, scale=4.0), 4.0 * draws(5, 3000))
    assert not draws(5, 3000, scale=0.0).any()


@pytest.mark.parametrize("out", [np.empty(4, dtype=np.float32), np.empty((2, 2)), np.empty(8)[::2]])
def test_only_flat_contiguous_doubles_are_filled(out):
    with pytest.raises(ValueError, match="float64"):
        normal.NormalStream(RNG(0)).fill(out, 1.0)


@pytest.mark.parametrize("scale", [np.nan, np.inf, -1.0])
def test_bad_scales_are_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        normal.NormalStream(RNG(0)).fill(np.empty(2), scale)


def test_lanes_are_seeded_apart_and_never_all_zero():
    state = normal.NormalStream(RNG(0))._state.reshape(4, normal.LANES)
    assert len(np.unique(state)) == state.size
    lane_0_zero = np.ones((4, normal.LANES), dtype=np.uint64)
    lane_0_zero[:, 0] = 0

    class ZeroFirst:
        answers = [lane_0_zero, np.ones_like(lane_0_zero)]  # noqa: RUF012

        def integers(self, *args, **more):
            return self.answers.pop(0)

    assert normal.NormalStream(ZeroFirst())._state.all()


def mechanism(seed=0, recorder=None, budget=None, **more):
    args = {"sensitivity": 1.5, "noise_multiplier": 2.0, "relation": Relation.ADD_REMOVE, "proof": "test"} | more
    return (budget or BudgetSpec().open(RNG(seed), recorder)).gaussian("sum", **args)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_large_block_has_the_mechanisms_noise(seed):
    block = mechanism(seed, steps=1000).noise(1000, 500)
    assert block.shape == (1000, 500)
    assert law_fails(block.ravel() / 3.0) == []
    assert "variance" in law_fails(block.ravel() / 3.03)


def test_large_blocks_go_on():
    one = mechanism(steps=30)
    assert not np.isin(one.noise(10, 100), one.noise(10, 100)).any()


def test_large_blocks_follow_the_noise_stream_and_leave_the_batches_alone():
    """An audit moves the noise stream ahead and holds the batches, which come from its children."""
    blocks, batches_drawn, half = [], [], {"sampling": Sampling.POISSON, "sampling_rate": 0.5}
    for ahead in (0, 2**64):
        bits = np.random.PCG64(0)
        bits.advance(ahead)
        budget = BudgetSpec().open(np.random.Generator(bits))
        drawn = mechanism(budget=budget, steps=10, **half)
        blocks.append(drawn.noise(10, 100))
        batches_drawn.append(drawn.batches(50).draw(0))
    assert not np.isin(*blocks).any()
    np.testing.assert_array_equal(*batches_drawn)
    np.testing.assert_array_equal(batches_drawn[0], mechanism(steps=10, **half).batches(50).draw(0))


def test_mechanisms_of_one_budget_have_streams_of_their_own():
    budget = BudgetSpec().open(RNG(0))
    one, two = (mechanism(budget=budget, steps=9) for _ in range(2))
    assert not np.isin(one.noise(9, 100), two.noise(9, 100)).any()


def test_large_blocks_are_counted_and_refused_while_audited():
    counted = mechanism(steps=10)
    counted.noise(9, 1000)
    with pytest.raises(BudgetExceeded, match="announced"):
        counted.noise(2, 1000)
    with pytest.raises(RuntimeError, match="audited"):
        mechanism(recorder=Recorder(), steps=10).noise(10, 1000)


def test_the_ledger_names_both_generators():
    assert mechanism().event.generator == GENERATOR
    assert "PCG64" in GENERATOR
    assert "xoshiro256++" in GENERATOR


def test_the_budget_alone_loads_no_compiler():
    code = "import sys, privacy.budget; sys.exit('numba' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
