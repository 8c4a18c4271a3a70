"""An epsilon of this suite is that of ONE fit whose noise is secret; the files of several are not private together.

Seeds are public, and settings of one method share their random numbers on purpose: two posteriors of one split at two
budgets hold the same standard normals at two scales, which both ledgers state. Two equations, two unknowns.

Shown for the corrected DP-SEP of linear regression, on rows that no budget clips. Hidden means that some of
the four is off by more than a tenth of the noise: with independent noise this fails with probability .08^4 = 4e-5, and
the seeds are fixed.
"""

from __future__ import annotations

import numpy as np

from reports.two_posteriors import exact, noisy_products, reconstructed, rows, stored, table


def test_one_file_hides_the_products_and_two_give_them_back():
    x, y = rows()
    truth = exact(x, y)
    posterior, scale = stored(x, y, 1.0)
    assert np.abs(noisy_products(posterior) - truth).max() > 0.1 * scale  # one fit: behind its noise
    np.testing.assert_allclose(reconstructed(x, y), truth, rtol=0, atol=1e-9)  # rounding of sums of 200 products


def test_on_the_neighbour_they_give_the_removed_row():
    x, y = rows()
    removed = reconstructed(x, y) - reconstructed(x[:-1], y[:-1])
    np.testing.assert_allclose(removed, np.append(x[-1], 1.0) * y[-1], rtol=0, atol=1e-9)  # the same


def test_with_noise_of_its_own_for_each_budget_they_do_not():
    """Then the two equations have three unknowns."""
    x, y = rows()
    _, scale = stored(x, y, 8.0)
    assert np.abs(reconstructed(x, y, seeds=(11, 12)) - exact(x, y)).max() > 0.1 * scale


def test_the_page_shows_it():
    _, frame = table()
    np.testing.assert_allclose(frame["two_files"], frame["private"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(frame["two_files_of_each_neighbour"], frame["removed_row"], rtol=0, atol=1e-9)
    assert (frame["one_file"] - frame["private"]).abs().max() > 0.1
