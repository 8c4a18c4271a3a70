"""Bernoulli trials with rho = 1/2 (Geumlek, Song & Chaudhuri 2017, figure 2 c, d and appendix A.2)."""

from __future__ import annotations

from datasets.protocols.trials import bernoulli

DATASET = bernoulli("bernoulli_half", 0.5, "1/2", "3415070bcfe2c8b8e030381337972e6d7a2b160a53f40c70c34ee75e83c5a654")
