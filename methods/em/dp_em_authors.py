"""DP-EM as the authors' code of Park, Foulds, Chaudhuri & Welling 2017 runs it. It is not private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from methods._shared.framed_mixture import RegressionInFrame
from methods._shared.frames import InFrame
from methods._shared.settings_checks import positive, whole, within
from methods.contract import Constants, Fit, Leak, LeakKind, Method, Rerun
from models.task import Task
from privacy.budget import Budget
from privacy.ledger import Relation


class DPEM(Method):
    """DP-EM as its authors' code runs it (Park et al. 2017): MAP EM with noisy weights, means and covariances.

    The scales of its noise follow from private numbers, and nothing bounds what one row can change. So the ledger has
    each event with an infinite sensitivity. The budget's (epsilon, delta) is what the code assumes to spend. The
    epsilon per release that follows from it is a diagnostic. Weights, means and covariances are estimated even if the
    task knows the noise.
    """

    name = "dp_em_authors"
    title = "DP-EM (authors' code)"
    seed_name = "dp_em"
    reference = "park2017dpem, the authors' code"
    models = ("mixture_of_gaussians",)
    rerun = Rerun.CHAOTIC  # its noise makes precisions jump between their floor and large values
    privacy = None
    leaks = (
        Leak(
            LeakKind.SENSITIVITY,
            "the scale of the noise on means and covariances follows from the private counts of the components",
        ),
        Leak(
            LeakKind.STANDARDISATION,
            "rows are divided by the largest norm of a private row, and the result is scaled back by it",
        ),
        Leak(
            LeakKind.SENSITIVITY,
            "the sensitivity of a covariance is four times too small (4 / N_k is reached, 1 / (N_k + nu0 + d + 2) is "
            "used)",
        ),
        Leak(LeakKind.ACCOUNTING, "eleven M-steps are run and ten are charged"),
        Leak(LeakKind.FAILING, "the iteration stops by the log-likelihood of the private rows, without noise"),
    )

    @dataclass(frozen=True)
    class Settings:
        #: "LLG": Laplace noise on weights and means, Gaussian on covariances; "GGG": Gaussian on all (Park et al.).
        release: str = "GGG"
        #: "linear", "advanced", "zcdp" or "moments" (Park et al. 2017; Vinaroz & Park 2023: moments).
        composition: str = "moments"
        #: composition formulas of the authors' code with slips; False: the consistent ones. Cell ids hash this name.
        as_released: bool = True
        #: J, M-steps that are charged (authors' code: maxIter = 10).
        iterations: int = 10
        #: M-steps that are run beyond the charged ones (authors' code: 1).
        uncharged: int = 1
        #: delta of one Gaussian release; "linear" has its own (authors' code: 1e-6).
        delta_i: float = 1e-6
        #: stops if un-noised log-likelihood + log prior change by less than this part (authors' code: 1e-4; 0: never).
        early_stop: float = 1e-4
        #: kappa0, pseudo-rows of the prior of the means (authors' code: 1.01).
        kappa0: float = 1.01
        #: S0 = this x I, squared units of the unit ball (authors' code: 0.1).
        prior_scale: float = 0.1
        #: concentration of the Dirichlet prior of the weights (authors' code: 2).
        dirichlet: float = 2.0
        #: return data units; False: those of the unit ball, which Vinaroz & Park 2023 compared with data units.
        scale_back: bool = True

        def __post_init__(self) -> None:
            whole("dp_em_authors", self, "iterations")
            whole("dp_em_authors", self, "uncharged", least=0)
            within("dp_em_authors", self, "[0, inf)", "early_stop")
            positive("dp_em_authors", self, "kappa0", "prior_scale")
            within("dp_em_authors", self, "[1, inf)", "dirichlet")

    def fit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        """Run DP-EM. Raises ValueError for a task without rows or a budget without (epsilon, delta)."""
        from methods.em import _dp_em as engine
        from methods.em import _em as em

        s = settings
        if task.n < 1:
            raise ValueError(f"{task.name}: dp_em_authors needs at least 1 training row, got {task.n}")
        if budget.epsilon is None or budget.delta is None:
            raise ValueError(
                "dp_em_authors: the budget states no (epsilon, delta); the authors' code computes its noise from them, "
                "so give both (mode record)"
            )
        components = task.model.components
        each = engine.per_release_epsilon(
            budget.epsilon, budget.delta, components, s.iterations, s.release, s.composition, s.delta_i, s.as_released
        )
        scale = em.largest_norm(task.x)
        x, n, d = task.x / scale, task.n, task.x.shape[1]
        prior = em.Prior(s.kappa0, s.prior_scale, s.dirichlet)
        upper = np.triu_indices(d)
        laplace = s.release == "LLG"

        def m_step(responsibilities, _):
            before = engine.statistics_of(x, responsibilities, n, s.release, prior)
            declared = before.sensitivities
            means, covariances = np.empty((components, d)), np.empty((components, d, d))
            for k in range(components):
                noisy = _noisy(budget, each, "mean of a component", before.means[k], declared.means[k], laplace)
                means[k] = engine.repaired_mean(noisy)
                triangle = before.covariances[k][upper]
                noisy = _noisy(budget, each, "covariance of a component", triangle, declared.covariances[k], False)
                covariances[k] = engine.repaired_covariance(engine.symmetric(noisy, d))
            noisy = _noisy(budget, each, "weights of the components", before.weights, declared.weights, laplace)
            return em.MixtureParameters(engine.repaired_weights(noisy, n, prior), means, covariances)

        start = em.initial(d, components, rng, 1.0 / scale)
        found, objectives = em.iterate(x, start, m_step, s.iterations + s.uncharged, s.early_stop, prior)
        if s.scale_back:
            found = em.scaled(found, scale)
        return Fit(
            found,
            budget.ledger,
            {
                "epsilon_per_release": each.epsilon,
                "delta_per_release": each.delta,
                "noise_multiplier_as_declared": each.noise_multiplier,
                "m_steps": len(objectives),
                "log_posterior": objectives[-1],
                "row_scale": scale,
            },
        )


def _noisy(budget: Budget, each, what: str, value: np.ndarray, declared: float, laplace: bool) -> np.ndarray:
    """One release with the authors' noise, whose scale follows from the ``declared`` sensitivity and eps'."""
    if laplace:
        mechanism = budget.laplace(
            what,
            sensitivity=math.inf,
            noise_scale=declared / each.epsilon,
            relation=Relation.REPLACE_ONE,
            proof="none: nothing bounds what one row can change",
        )
    else:
        mechanism = budget.unbounded_gaussian(
            what, noise_scale=declared * each.noise_multiplier, relation=Relation.REPLACE_ONE
        )
    return mechanism.release(value)


# DP-EM as its authors' code runs it, for a mixture of Gaussians on inputs scaled to [-1, 1]. It is not private.

#: the leak that scaling to [-1, 1] adds to those of the authors' code
FRAME_LEAK = Leak(
    LeakKind.STANDARDISATION,
    "columns without a documented range are framed by the mean and standard deviation of the private rows",
)


class DPEMMixture(InFrame, DPEM):
    """The authors' DP-EM on columns scaled to [-1, 1], with an infinite epsilon at every budget by its ledger.

    The budget's (epsilon, delta) is what the code assumes to spend, and it is only recorded. The composition is the
    moments accountant by consistent formulas, because the code's own grid has no entry at epsilon = 0.1.
    """

    models = ("bounded_mixture",)
    constants = (Constants.PROGRAM,)
    name = "dp_em_authors"
    seed_name = "dp_em"
    leaks = (*DPEM.leaks, FRAME_LEAK)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"iterations": 5}, {"iterations": 20}, {"prior_scale": 1.0}, {"composition": "zcdp"}, {"early_stop": 0.0},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(DPEM.Settings):
        as_released: bool = False  #: composition formulas of the authors' code with slips; False: the consistent ones

    def fit_unit(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return DPEM.fit(self, task, settings, budget, rng)


# DP-EM as its authors' code runs it, as Gaussian-mixture regression on inputs scaled to [-1, 1]. It is not private.
class DPEMLinear(RegressionInFrame, DPEM):
    """The authors' DP-EM on the joint distribution of inputs and target, which predicts the target given the inputs.

    Its epsilon is infinite at every budget by its ledger, so a budget only records what it releases. The settings are
    those for a density of scaled columns.
    """

    models = ("bounded_linear_regression",)
    constants = (Constants.PROGRAM, Constants.PRINTED)
    name = "dp_em_authors"
    seed_name = "dp_em"
    leaks = (*DPEM.leaks, FRAME_LEAK)
    grid: ClassVar[tuple[dict, ...]] = (
        {}, {"components": 1}, {"components": 2}, {"components": 5}, {"iterations": 5}, {"iterations": 20},
    )  # fmt: skip

    @dataclass(frozen=True)
    class Settings(DPEMMixture.Settings):
        components: int = 3  #: K (Park et al. 2017, for densities: 3)

        def __post_init__(self) -> None:
            super().__post_init__()
            whole("dp_em_authors", self, "components")

    def fit_joint(self, task: Task, settings: Settings, budget: Budget, rng: np.random.Generator) -> Fit:
        return DPEM.fit(self, task, settings, budget, rng)
