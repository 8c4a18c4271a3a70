"""Range checks for ``Settings.__post_init__``.

Each check raises ValueError, ``WHO: NAME = VALUE; give ...``, for the first setting that is out of range. ``who`` is
the method, or a name for several methods. No check changes a value. NaN, True and False do not count as numbers. 40.0
counts as a whole number, because a file may contain it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real


def whole(who: str, settings: object, *names: str, least: int = 1, optional: bool = False) -> None:
    """Raise ValueError for a value that is no whole number of at least ``least``. None passes if ``optional``."""

    def good(value) -> bool:
        return _is_number(value) and least <= value < math.inf and int(value) == value

    _check(who, settings, names, good, f"a whole number, at least {least}", optional)


def positive(who: str, settings: object, *names: str, optional: bool = False) -> None:
    """Raise ValueError for a value that is no finite number above 0. None passes if ``optional``."""
    _check(who, settings, names, _inside("(0, inf)"), "a finite number above 0", optional)


def within(who: str, settings: object, interval: str, *names: str, optional: bool = False) -> None:
    """Raise ValueError for a value that is no number in ``interval``. None passes if ``optional``.

    ``interval`` is written as usual: ``(0, 1]`` holds 1 and not 0, ``[0, inf)`` every finite number from 0.
    """
    _check(who, settings, names, _inside(interval), f"a number in {interval}", optional)


def all_within(who: str, settings: object, interval: str, *names: str) -> None:
    """Raise ValueError for a sequence that is empty or has an entry outside of ``interval`` (see :func:`within`)."""
    inside = _inside(interval)

    def good(values) -> bool:
        return isinstance(values, Sequence) and len(values) > 0 and all(inside(v) for v in values)

    _check(who, settings, names, good, f"numbers in {interval}, at least one")


def one_of(who: str, settings: object, name: str, words: Sequence[str]) -> None:
    """Raise ValueError for a value that is none of ``words``."""
    _check(who, settings, (name,), lambda value: value in words, f"one of {', '.join(words)}")


def _check(
    who: str, settings: object, names: Iterable[str], good: Callable[..., bool], give: str, optional: bool = False
) -> None:
    for name in names:
        value = getattr(settings, name)
        if not (good(value) or (optional and value is None)):
            raise ValueError(f"{who}: {name} = {value!r}; give {give}{', or None' if optional else ''}")


def _is_number(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _inside(interval: str) -> Callable[..., bool]:
    """Whether a value is a number in the interval. NaN is in none."""
    low, high = (float(end) for end in interval[1:-1].split(","))
    from_low, to_high = interval[0] == "[", interval[-1] == "]"

    def good(value) -> bool:
        return _is_number(value) and low <= value <= high and (from_low or value > low) and (to_high or value < high)

    return good
