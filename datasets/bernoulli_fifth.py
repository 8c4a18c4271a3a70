"""Bernoulli trials with rho = 0.2 (Geumlek, Song & Chaudhuri 2017, appendix A.2: the uniform prior)."""

from __future__ import annotations

from datasets.protocols.trials import bernoulli

DATASET = bernoulli("bernoulli_fifth", 0.2, "0.2", "d418b9691ecbe62cc1be1b6d24c049c52e238c4459d448367ad3096708e6f997")
