"""DP-SEP: algorithm 3 of Vinaroz & Park 2023 as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from methods._shared.known_noise import needs_known_noise
from methods._shared.settings_checks import one_of, positive, whole
from methods.contract import Apart, Constants, Counterpart, Fit, Method, MethodError, Rerun
from methods.ep._dpsep_program import STANDARDISED
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation, Sampling

#: counts that depend on rows before any noise. Publishing them would be further releases of unbounded cost.
_OF_ROWS = frozenset({"clipped_sites", "zeroed_sites", "clipped_factors"})


class DPSEP(Method):
    """Stochastic expectation propagation with clipped sites and Gaussian noise after each row (algorithm 3).

    The paper computes its noise multiplier with amplification by sampling. Rows are taken "without replacement" (a
    permutation per epoch), and the ledger records that.
    """

    name = "dp_sep"
    title = "DP-SEP"
    reference = "vinaroz2023dpsep, algorithm 3 and proposition 1"
    models = ("bnn_regression", "mixture_of_gaussians")
    rerun = Rerun.CHAOTIC  # its noise makes precisions jump between their floor and large values
    privacy = Relation.REPLACE_ONE
    counterparts = (
        Counterpart(
            apart=Apart.NOISE, reason="the noise multiplier is an input of algorithm 3; epsilon does not set it"
        ),
    )
    leaks = (STANDARDISED,)

    @dataclass(frozen=True)
    class Settings:
        #: passes over the rows (Vinaroz & Park 2023: 40).
        epochs: int = 40
        #: C, bound on the Euclidean norms of theta_0, theta_f and theta_fn (Vinaroz & Park 2023: 1).
        clip: float = 1.0
        #: damping value gamma of eq. (5): a step moves theta by gamma / N of a site (Vinaroz & Park 2023: 1).
        gamma: float = 1.0
        #: replaces a precision, a - 1 or b that is not positive (authors' code, for precisions: 1e-4).
        floor: float = 1e-4
        #: network only: where q starts, which the paper does not say: "printed" (SEP's random q) or "program" (the
        #: same means, mean naturals and precisions of each layer scaled to norm <= C).
        start: str = field(default="printed", metadata={"later": True})

        def __post_init__(self) -> None:
            one_of("dp_sep", self, "start", ("printed", "program"))

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or needs_known_noise(self.name, task)

    def prepare(self, task: Task, settings: Settings) -> None:
        if task.model.kind == "mixture_of_gaussians":
            from methods.ep._mixture import training as mixture

            return mixture.compile_kernels(task.model.components, task.x.shape[1])
        from methods.ep._pbp import natural_training, training

        x, y = training.tiny(task.x.shape[1] + 1)
        natural_training.algorithm3(
            x, y, task.model, np.random.default_rng(0), method=self.name, epochs=1, clip=1.0, gamma=1.0,
            floor=1e-4, mechanism=None,
        )  # fmt: skip

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Fit one task. Raises ValueError if the budget states no noise multiplier."""
        mixture = task.model.kind == "mixture_of_gaussians"
        if task.n < 1:
            raise ValueError(f"dp_sep: {task.name} has 0 training rows; give at least 1")
        whole("dp_sep", settings, "epochs")
        positive("dp_sep", settings, "clip", "gamma")
        if budget.noise_multiplier is None:
            raise ValueError(
                "dp_sep: the budget states no noise multiplier; algorithm 3 takes sigma as an input, so give "
                "noise_multiplier in the budget of the experiment"
            )
        n = task.n
        mechanism = budget.gaussian(
            "natural parameters of q after each step",
            sensitivity=2.0 * settings.gamma * settings.clip / n,
            noise_multiplier=budget.noise_multiplier,
            relation=Relation.REPLACE_ONE,
            sampling=Sampling.SHUFFLED_EPOCHS,
            steps=settings.epochs,
            releases=settings.epochs * n,
            proof=f"methods.ep.{'_mixture.kernel.noisy_steps' if mixture else '_pbp.natural_kernel.natural_steps'}",
        )
        if mixture:
            from methods.ep._mixture import training as engine

            found = engine.algorithm3(
                task, rng, method=self.name, epochs=settings.epochs, clip=settings.clip, gamma=settings.gamma,
                floor=settings.floor, mechanism=mechanism, ledger=budget.ledger,
            )  # fmt: skip
            return replace(found, diagnostics=of_releases(found.diagnostics))
        from methods.ep._pbp import natural_training, training

        x, y, scale = training.standardised(task)
        state, diagnostics = natural_training.algorithm3(
            x, y, task.model, rng, method=self.name, epochs=settings.epochs, clip=settings.clip,
            gamma=settings.gamma, floor=settings.floor, mechanism=mechanism, start=settings.start,
        )  # fmt: skip
        return training.finish(state, scale, budget.ledger, of_releases(diagnostics))


def of_releases(counts: Mapping[str, float]) -> dict[str, float]:
    """Diagnostics that a private fit may publish: counts of effects of the noise, not of the rows before it."""
    return {name: count for name, count in counts.items() if name not in _OF_ROWS}


# DP-SEP as printed, for a mixture of Gaussians on scaled inputs: refused, because its guarantee is under replace-one.

_REASON = (
    "dp_sep: algorithm 3 adds noise once for each row that it visits, so under add/remove neighbours the number of "
    "noise terms differs with the data; its guarantee is for replaced rows and does not convert"
)


class DPSEPMixture(Method):
    """Not fitted: every task of this kind is refused, because algorithm 3 has no bound under add/remove neighbours.

    Algorithm 3 of Vinaroz & Park 2023 passes over the rows one by one and adds one noise vector after each. If a row is
    replaced, one step per epoch changes by 2 gamma C / N. If a row is added or removed, a whole step is present or
    absent, together with its noise. At that step one of the two neighbours has a point mass, and the other has a
    Gaussian. Nothing bounds the divergence of the two. A noise-only step for a missing row would be another algorithm.
    """

    models = ("bounded_mixture",)
    constants = (Constants.NONE,)
    name = "dp_sep"
    title = DPSEP.title
    reference = DPSEP.reference
    privacy = Relation.REPLACE_ONE
    counterparts = (
        Counterpart(
            apart=Apart.REFUSED,
            reason="its guarantee does not hold for a row added or removed, so that it is never run",
        ),
    )
    leaks = ()

    @dataclass(frozen=True)
    class Settings:
        """There are no hyper-parameters, because the method is not run."""

    def supports(self, task: Task) -> str | None:
        return super().supports(task) or _REASON

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Raise MethodError with the reason."""
        raise MethodError(self.supports(task))
