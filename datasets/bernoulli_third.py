"""Bernoulli trials with rho = 1/3 (Geumlek, Song & Chaudhuri 2017, appendix A.2: the prior's mean)."""

from __future__ import annotations

from datasets.protocols.trials import bernoulli

DATASET = bernoulli("bernoulli_third", 1 / 3, "1/3", "76920801aade60261d64f2cb6909948291ba47ed9d9475044ac422c38537b6ba")
