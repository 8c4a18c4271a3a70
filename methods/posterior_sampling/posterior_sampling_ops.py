"""One-posterior-sample mechanism for logistic regression (Wang, Fienberg & Smola 2015), by a pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from methods.engines.logistic import guarantee
from methods.engines.logistic.release import LogisticPosteriorDraw, Release, SamplerSettings
from methods.engines.logistic.sampler import Target
from models.logistic_regression import LogisticRegression
from privacy.budget import Budget


class PosteriorSamplingOPS(LogisticPosteriorDraw):
    """One draw from a tempered posterior whose prior is truncated to the ball |w| <= c / beta0.

    Geumlek, Song & Chaudhuri 2017 read the Renyi epsilon of the budget as a pure epsilon and charge
    4 power c^2 / beta0. That is unkind twice, and each setting takes one back: ``renyi_conversion`` uses that pure
    epsilon0 implies order epsilon0^2 / 2; ``tight_range`` that 2 power c^2 / beta0 is enough. The ledger holds the
    smallest bound that is proved (``methods.engines.logistic.guarantee.truncated_bound``), in either case.
    """

    name = "posterior_sampling_ops"
    title = "One posterior sample (OPS)"
    reference = "wang2015privacy, as geumlek2017rdp, section 5.2, charge it"

    @dataclass(frozen=True)
    class Settings(SamplerSettings):
        #: pure epsilon = max(epsilon, sqrt(2 epsilon / order)) in place of epsilon (fair variant of this suite).
        renyi_conversion: bool = False
        #: charge the range of the log-likelihood once, not twice (choice of this suite).
        tight_range: bool = False

    def release(self, model: LogisticRegression, n: int, settings: Settings, budget: Budget) -> Release:
        order, epsilon = budget.require_renyi(self.name)
        pure = guarantee.fair_pure_epsilon(order, epsilon) if settings.renyi_conversion else epsilon
        power = guarantee.ops_power(pure, model.beta0, model.norm_bound, tight=settings.tight_range)
        radius, precision = model.norm_bound / model.beta0, n * model.beta0
        event = guarantee.truncated_draw_event(power, precision, model.norm_bound, radius, order)
        told = {"beta": model.beta0, "power": power, "radius": radius}
        return Release(Target(power, precision, radius), event, told)
