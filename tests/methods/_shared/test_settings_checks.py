"""Range checks of settings: what passes, what is refused, and the one form of the message."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from methods._shared.settings_checks import all_within, one_of, positive, whole, within

NAN, INF = math.nan, math.inf
#: no number at all, for any check of numbers.
STRANGE = (NAN, True, False, np.True_, None, "3", (3,), [1.0], 1j)


def passes(check, value, *args, **options) -> bool:
    settings = SimpleNamespace(size=value)
    try:
        check("toy", settings, *args, **options)
    except ValueError as error:
        text = str(error)
        assert text.startswith(f"toy: size = {value!r}; give "), text
        return False
    assert vars(settings) == {"size": value}
    assert settings.size is value
    return True


@pytest.mark.parametrize(
    ("least", "good", "bad"),
    [
        (1, (1, 2, 40.0, 10**30, np.int64(3), np.float64(7)), (0, -1, 0.0, 0.5, 2.5, INF, -INF, *STRANGE)),
        (0, (0, 0.0, 1), (-1, -0.5, 0.5, INF, *STRANGE)),
        (4, (4, 4.0, 5), (3, 3.0, 4.5, 0, INF, *STRANGE)),
    ],
)
def test_whole_numbers(least, good, bad):
    assert [v for v in good if not passes(whole, v, "size", least=least)] == []
    assert [v for v in bad if passes(whole, v, "size", least=least)] == []


def test_positive_numbers():
    good = (1, 2.5, 5e-324, 1e308, np.float32(0.5), np.int64(3))
    bad = (0, 0.0, -0.0, -1, -1e-9, INF, -INF, *STRANGE)
    assert [v for v in good if not passes(positive, v, "size")] == []
    assert [v for v in bad if passes(positive, v, "size")] == []


@pytest.mark.parametrize(
    ("interval", "good", "bad"),
    [
        ("(0, 1)", (0.5, 1e-300), (0, 1, 1.5, -1, INF)),
        ("(0, 1]", (0.5, 1, 1.0), (0, 0.0, 1.0000001, INF)),
        ("[0, 1)", (0, 0.0, 0.99), (1, 1.0, -1e-300, INF)),
        ("[0, 0.9]", (0, 0.9), (0.9000001, -1)),
        ("[0, inf)", (0, 1e308), (-1e-300, INF)),
        ("(0, inf]", (1, INF), (0, -INF)),
        ("(-inf, inf)", (0, -5.0, 5), (INF, -INF)),
    ],
)
def test_intervals(interval, good, bad):
    assert [v for v in good if not passes(within, v, interval, "size")] == []
    assert [v for v in (*bad, *STRANGE) if passes(within, v, interval, "size")] == []


def test_none_passes_only_where_it_is_an_option():
    for check, args in ((whole, ("size",)), (positive, ("size",)), (within, ("(0, 1]", "size"))):
        assert not passes(check, None, *args)
        assert passes(check, None, *args, optional=True)
        assert not passes(check, NAN, *args, optional=True)
        assert not passes(check, 0, *args, optional=True)


def test_sequences():
    for value in ((0.1,), [1, 2.5]):
        assert passes(all_within, value, "(0, inf)", "size")
    for value in ((), [], (0.1, 0.0), (1.0, NAN), (1, INF), (True,), ("3",), "3", 3, 2.5, None):
        assert not passes(all_within, value, "(0, inf)", "size")
    assert passes(all_within, (0.0, 1.0), "[0, inf)", "size")


def test_words():
    assert passes(one_of, "sgd", "size", ("sgd", "adam"))
    for value in ("SGD", "", "sg", None, 1, NAN):
        assert not passes(one_of, value, "size", ("sgd", "adam"))


def test_messages_name_the_first_setting_and_what_to_give():
    settings = SimpleNamespace(steps=2, clip=-1.0, rate=0.0, start="here", rates=())
    for check, said in (
        (lambda: whole("toy", settings, "steps", "clip"), "clip = -1.0; give a whole number, at least 1"),
        (lambda: positive("toy", settings, "steps", "rate", "clip"), "rate = 0.0; give a finite number above 0"),
        (lambda: positive("toy", settings, "rate", optional=True), "rate = 0.0; give a finite number above 0, or None"),
        (lambda: within("toy", settings, "(0, 1]", "rate"), "rate = 0.0; give a number in (0, 1]"),
        (lambda: all_within("toy", settings, "(0, 1]", "rates"), "rates = (); give numbers in (0, 1], at least one"),
        (lambda: one_of("toy", settings, "start", ("a", "b")), "start = 'here'; give one of a, b"),
    ):
        with pytest.raises(ValueError) as error:
            check()
        assert str(error.value) == f"toy: {said}"
