"""The number of splits of a cell that a method fits in one request."""

from __future__ import annotations


class Together:
    """Mixin for a method that fits many splits in one request, one after the other.

    A request loads its table once, because simulated ones are large.
    """

    splits_at_once = 50
