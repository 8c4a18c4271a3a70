"""The number of splits of a cell that a method fits in one request."""

from __future__ import annotations


class Together:
    """Mixin: many splits at one request, one after the other.

    A request loads its table once: simulated ones are large.
    """

    splits_at_once = 50
