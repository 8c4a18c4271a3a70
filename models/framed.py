"""Rebuild a posterior in the box (``models.bounded``) from its archive.

A file of its own: it reaches every kind of posterior, and what fits a model in the box must not.
"""

from __future__ import annotations

import numpy as np

from models import posteriors
from models.bounded import Frame, FramedPosterior


def load(kind: str, p: dict[str, np.ndarray]) -> FramedPosterior:
    """Rebuild the posterior from its parameters. Raises KeyError for another kind."""
    if kind != "framed":
        raise KeyError(f"models/framed.py holds framed, not '{kind}'")
    inner = {k: v for k, v in p.items() if not k.startswith("frame_") and k != "inner_kind"}
    y_shift, y_scale, stretch = (float(v) for v in p["frame_y"])
    frame = Frame(p["frame_x_shift"], p["frame_x_scale"], y_shift, y_scale, stretch)
    return FramedPosterior(posteriors.load(bytes(p["inner_kind"]).decode(), inner), frame)
