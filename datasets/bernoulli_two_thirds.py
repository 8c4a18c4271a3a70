"""Bernoulli trials with rho = 2/3 (Geumlek, Song & Chaudhuri 2017, appendix A.2: far from the prior's mean)."""

from __future__ import annotations

from datasets.protocols.trials import bernoulli

DATASET = bernoulli(
    "bernoulli_two_thirds", 2 / 3, "2/3", "23b49b033c28b9cf8d3888503abbfd9a544bd4d7a11b2896bbf729059ab0ca99"
)
