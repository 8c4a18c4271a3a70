"""The source's random numbers, against numbers of its own old libraries."""

import numpy as np
import pytest

from papers.honkela2018robust import streams

#: of a fit without noise in the first fold.
OPTIMISER = [1641527004, 1958262091, 1837323864, 1033534585, 1792594458, 699910748]
DRAWS = [1015630546, 2009234247, 1076802791, 1030676047, 2046420717, 1632434747]


def test_seeds_of_the_first_folds():
    first = [int(np.floor(5000 * np.random.RandomState(f).rand())) for f in range(50)]
    assert first[:5] == [2744, 2085, 2179, 2753, 4835]
    assert len(set(first)) == 50
    order = streams.fold_generator(0).permutation(1000)
    assert order[:5].tolist() == [374, 555, 718, 687, 885]
    assert order[100:105].tolist() == [286, 758, 445, 774, 579]
    assert order[900:910].tolist() == [853, 637, 477, 690, 88, 683, 339, 447, 840, 896]


def test_uniform_numbers():
    one = streams.Uniforms([[1, 2, 3, 4, 5, 6]], 1)
    found = [float(one.draw()[0, 0]) for _ in range(4)]
    assert found == [0.0037538395263254642, 0.001736341044306755, 0.6482239225879312, 0.7224698816426098]


def test_jumps():
    state = [1, 2, 3, 4, 5, 6]
    assert streams.jumped(state, 72) == [236336504, 1630064008, 1151274174, 945871500, 1221901377, 1030714415]
    assert streams.jumped(state, 134) == [1782355199, 180881799, 960068827, 1267448446, 1580452303, 757893159]
    assert streams.jumped(streams.jumped(state, 134), 134) == streams.jumped(state, 134, 2)


def test_a_jump_is_so_many_steps():
    """2^5 of them, one by one; the second lane starts at a jump of the first."""
    one = streams.Uniforms([[1, 2, 3, 4, 5, 6]], 1)
    for _ in range(32):
        one.draw()
    moved = streams.Uniforms([streams.jumped([1, 2, 3, 4, 5, 6], 5)], 1)
    assert one.draw() == moved.draw()
    two = streams.Uniforms([[1, 2, 3, 4, 5, 6]], 2)
    alone = streams.Uniforms([streams.jumped([1, 2, 3, 4, 5, 6], streams.LANE)], 1)
    assert two.draw()[1, 0] == alone.draw()[0, 0]


def test_the_first_normal_numbers_of_a_fit():
    z = streams.Normals([OPTIMISER], 12).draw(1)[0, :, 0]
    assert z == pytest.approx(
        [-1.907004786706, 0.764928938994, -0.284916877765, 0.034338015341, 0.047636502019, -0.277640968891,
         -0.308330012199, -0.873478731897, 0.149245244536, -0.052914718004, -2.169519148041, -2.527478281569],
        abs=1e-12,
    )  # fmt: skip


def test_means_of_draws():
    """By one stream after the other; the variables are jumps apart."""
    found = streams.draw_means([OPTIMISER, DRAWS], 10, 80)
    assert found.shape == (2, streams.VARIABLES, 10)
    for k in range(streams.VARIABLES):
        alone = streams.Normals([streams.jumped(DRAWS, streams.VARIABLE, k)], 10).draw(80)[:, :, 0]
        assert found[1, k] == pytest.approx(alone.mean(axis=0), abs=1e-12)
