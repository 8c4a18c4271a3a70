"""Patches that break what several families share: kernels, descents, the box. See ``privacy.mutants``."""

from __future__ import annotations

from dataclasses import replace

from privacy.mutants import GENERIC, Mutant

NO_CLIPPING = "the norm to which rows are clipped is a billion times the one declared"
DECLARED = "declared as used, is the largest number of the private rows"
#: private standardisation as an adapter writes it
SCALING_LEAK = r"Standardiser\.from_moments\(task\.x, task\.y\)"
PRIVATE_SCALING = Mutant(
    "data-dependent standardisation",
    r"Standardiser\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)",
    "Standardiser.from_moments(task.x, task.y)",
    what="private moments standardise, unpaid",
)
_BACKPROP = "methods._shared.bayes_by_backprop.training"
PRIVATE_BACKPROP = (
    replace(GENERIC[0], module=_BACKPROP),
    Mutant(
        "half noise",
        r"torch\.from_numpy\(noise\.noise\(",
        "0.5 * torch.from_numpy(noise.noise(",
        module=_BACKPROP,
        what="the fast path adds half the noise",
    ),
    Mutant(
        "data-dependent standardisation",
        r"labels, model\.input_scale,",
        "labels, float(np.abs(task.x).max()),",
        module=_BACKPROP,
        what="inputs are divided by the largest number of the private rows, unpaid",
    ),
)
POISSON_BACKPROP = (*PRIVATE_BACKPROP, *(replace(GENERIC[k], module=_BACKPROP) for k in (1, 2, 3)))

# Logistic regression in the box.
#: the release is drawn and thrown away; its argument, which draws a batch, is computed once.
BARE = r"(lambda value: (mechanism.release(value), value)[1])(\1)"
UNPAID_CENTRE = (
    "data-dependent standardisation",
    r"centre = centred\.bought\(task, budget\)",
    "centre = centred.Centre(task.x.mean(axis=0), task.x.std(axis=0))",
    "rows are centred by their own moments, unpaid",
)


def logistic(name: str, pattern: str, replacement: str, module: str, what: str, count: int = 1) -> Mutant:
    """A mutant of the numerics of logistic regression in the box: below ``methods``, the name of the module."""
    return Mutant(name, pattern, replacement, module=f"methods.{module}", what=what, count=count)


def descent_in_the_box(total: str) -> tuple[Mutant, ...]:
    """Mutants of DP-SGD on logistic regression in the box; ``total``: the function that sums the clipped gradients."""
    home = "_shared.logistic_gaussian.gradients"
    return (
        logistic(
            "no noise",
            rf"mechanism\.release\(({total}\(z\[batches\.draw\(step\)\], [^()]+\))\)",
            BARE,
            home,
            GENERIC[0].what,
        ),
        replace(GENERIC[1], module=f"methods.{home}"),
        logistic("no clipping", r"plan\.clip\)\)", "1e9 * plan.clip))", home, NO_CLIPPING, 0),
        replace(GENERIC[3], module=f"methods.{home}"),
        logistic(*UNPAID_CENTRE[:3], home, UNPAID_CENTRE[3], 0),
    )


# Linear regression in the box.
_LINEAR = "methods._shared.conjugate_linear"
UNPAID_FRAME = Mutant(
    "data-dependent standardisation",
    r"make_frame\(task, budget, self\.share\)",
    "make_frame(__import__('dataclasses').replace(task, public=PublicKnowledge(task.public.n)), None, self.share)",
    module=f"{_LINEAR}.release",
    what="the box is made from private moments, unpaid",
)
DESCENT = (
    Mutant(
        "no noise",
        r"noise\.release\((total\[released\])\)",
        r"(noise.release(\1), \1)[1]",
        module=f"{_LINEAR}.descent",
        what=GENERIC[0].what,
    ),
    replace(GENERIC[1], module=f"{_LINEAR}.descent"),
    Mutant(
        "no clipping",
        r"plan\.clips, MOST, middle",
        "1e9 * plan.clips, MOST, middle",
        module=f"{_LINEAR}.descent",
        what=NO_CLIPPING,
    ),
    Mutant(
        "wrong count of steps",
        r"steps=s\.steps, proof=_PROOF,\n",
        "steps=max(1, s.steps // 3), releases=s.steps, proof=_PROOF,\n",
        module=f"{_LINEAR}.descent",
        what=GENERIC[3].what,
    ),
    replace(UNPAID_FRAME, via=(f"{_LINEAR}.descent",)),
)
# What ``InFrame`` makes.
UNPAID_BOX = Mutant(
    "data-dependent standardisation",
    r"make_frame\(task, None if self\.privacy is None else budget, self\.share\)",
    "(lambda new: make_frame(new(task, public=new(task.public, x_bounds=(), y_bounds=None)), None, self.share))"
    "(__import__('dataclasses').replace)",
    module="methods._shared.frames",
    what="the box is made from private moments, unpaid",
)
