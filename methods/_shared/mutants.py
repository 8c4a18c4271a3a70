"""Mutants of code shared by several families of methods: kernels, descents, the scaling. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from privacy.mutants import Mutant

NO_CLIPPING = "the norm to which rows are clipped is a billion times the one declared"
DECLARED = "declared as used, is the largest number of the private rows"
#: for a method that clips to a setting ``clip``
UNCLIPPED = Mutant(
    "no clipping", r"\b(s|settings)\.clip\b", r"(1e9 * \1.clip)", count=0, unless=r"sensitivity", what=NO_CLIPPING
)
#: private standardisation as the code of a method writes it
SCALING_LEAK = r"Standardiser\.from_moments\(task\.x, task\.y\)"
PRIVATE_SCALING = Mutant(
    "data-dependent standardisation",
    r"Standardiser\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)",
    "Standardiser.from_moments(task.x, task.y)",
    what="private moments standardise, not charged to the budget",
)
_BACKPROP = "methods._shared.bayes_by_backprop.training"
UNCHARGED_INPUT_SCALE = Mutant(
    "data-dependent standardisation",
    r"labels, model\.input_scale,",
    "labels, float(np.abs(task.x).max()),",
    module=_BACKPROP,
    what="inputs are divided by the largest number of the private rows, not charged to the budget",
)
POISSON_BACKPROP = (UNCHARGED_INPUT_SCALE, replace(UNCLIPPED, module=_BACKPROP))

# Logistic regression on scaled inputs.
UNCHARGED_CENTRE = Mutant(
    "data-dependent standardisation",
    r"centre = centred\.private_centre\(task, budget\)",
    "centre = centred.Centre(task.x.mean(axis=0), task.x.std(axis=0))",
    what="rows are centred by their own moments, not charged to the budget",
)
_LOGISTIC = "methods._shared.logistic_gaussian.gradients"
LOGISTIC_DESCENT = (
    Mutant("no clipping", r"plan\.clip\)\)", "1e9 * plan.clip))", module=_LOGISTIC, count=0, what=NO_CLIPPING),
    replace(UNCHARGED_CENTRE, module=_LOGISTIC, count=0),
)

# Linear regression on scaled inputs.
_LINEAR = "methods._shared.conjugate_linear"
UNCHARGED_FRAME = Mutant(
    "data-dependent standardisation",
    r"make_frame\(task, budget, self\.share\)",
    "make_frame(__import__('dataclasses').replace(task, public=PublicKnowledge(task.public.n)), None, self.share)",
    module=f"{_LINEAR}.release",
    what="the scaling is made from private moments, not charged to the budget",
)
LINEAR_DESCENT = (
    Mutant(
        "no clipping",
        r"plan\.clips, MOST, middle",
        "1e9 * plan.clips, MOST, middle",
        module=f"{_LINEAR}.descent",
        what=NO_CLIPPING,
    ),
    replace(UNCHARGED_FRAME, via=(f"{_LINEAR}.descent",)),
)
# The scaling that ``InFrame`` makes.
UNCHARGED_SCALING = Mutant(
    "data-dependent standardisation",
    r"make_frame\(task, None if self\.privacy is None else budget, self\.share\)",
    "(lambda new: make_frame(new(task, public=new(task.public, x_bounds=(), y_bounds=None)), None, self.share))"
    "(__import__('dataclasses').replace)",
    module="methods._shared.frames",
    what="the scaling is made from private moments, not charged to the budget",
)
