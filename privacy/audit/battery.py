"""Every check of one adapter on one task."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scipy import stats

from privacy.audit.noise import MOST_FITS, NOISE_ALPHA, SAMPLES, noise_fault, noise_power
from privacy.audit.pairs import neighbours
from privacy.audit.paths import PATH_RUNS, noise_matters, same_path
from privacy.audit.replays import REFUSED, ROUNDING, Replay, StructureDiffers, replay, run, same_event
from privacy.audit.sampling import COIN_ALPHA, SEEDS, fits_for, is_poisson, sampling_fault, share_power
from privacy.budget import BudgetSpec
from privacy.ledger import EPOCHS, Mechanism, Sampling


@dataclass(frozen=True)
class Evidence:
    """``n`` pairs, releases or numbers were compared; a true adapter fails with probability ``false_alarm`` at most.

    ``power``: probability that a copy with the fault ``against`` fails; NaN where it is of a kind that has no size.
    """

    n: int
    false_alarm: float
    power: float
    against: str


class Audit:
    """The checks of one adapter on one task, each when it is asked for; what several need is computed once.

    ``samples``, ``alpha``: of :func:`noise_fault`. ``more``: pairs (name, D, D') beside those of :func:`neighbours`;
    ``only``: the names of those that are wanted, all by default.
    """

    def __init__(
        self,
        method,
        task,
        settings,
        spec: BudgetSpec,
        seed: int,
        samples: int = SAMPLES,
        alpha: float = NOISE_ALPHA,
        more: Sequence[tuple[str, Any, Any]] = (),
        only: Sequence[str] = (),
    ):
        self.method, self.task, self.spec, self.seed = method, task, spec, seed
        self._more, self._only = tuple(more), tuple(only)
        self._fit = (method, task, settings, spec, seed)
        self._samples, self._alpha = samples, alpha

    @cached_property
    def replays(self) -> list[tuple[str, Replay | Exception]]:
        """Each pair of :func:`neighbours` by name, with its replay or the exception that ended it."""
        method, task, settings, spec, seed = self._fit
        out: list[tuple[str, Replay | Exception]] = []
        for pair, d, dprime in (*neighbours(task, method.privacy), *self._more):
            if self._only and pair not in self._only:
                continue
            try:
                out.append((pair, replay(method, d, dprime, settings, spec, seed)))
            except REFUSED as error:
                out.append((pair, error))
        return out

    @property
    def reached(self) -> float:
        """Largest part of its declared sensitivity by which a release moves on these pairs."""
        return max((r.ratio for _, r in self.replays if isinstance(r, Replay)), default=0.0)

    def evidence(self, check: str) -> Evidence:
        """What a passed ``check`` rests on; see :class:`Evidence`."""
        replayed = [r for _, r in self.replays if isinstance(r, Replay)]
        if check == "sensitivity":
            moves = sum(g.releases for r in replayed for g in r.gaps)
            share = f"{min(self.reached, 1.0):.3f}"
            return Evidence(moves, 0.0, 1.0, f"a sensitivity declared below {share} of what it is")
        if check == "noise":
            most = max((sum(v.size for v in r.recorded.values) for r in replayed), default=0)
            fits = min(math.ceil(self._samples / most), MOST_FITS) if most else 0
            n = most * fits
            laplace = any(e.mechanism is Mechanism.LAPLACE for r in replayed for e in r.ledger)
            power = noise_power(n, laplace, self._alpha / 2) if n > 1 else math.nan
            return Evidence(n, self._alpha, power, "2/3 of the declared noise")
        if check == "sampling":
            counts = [(g.releases, e.sampling_rate) for r in replayed[:1] for g, e in zip(r.gaps, r.ledger, strict=True)
                      if is_poisson(e)]  # fmt: skip
            if not counts:
                return Evidence(0, 0.0, math.nan, "no Poisson batches")
            fits = max([SEEDS, *(fits_for(*c) for c in counts)])
            powers = [(fits * steps, share_power(fits * steps, rate, min(1.0, 1.5 * rate))) for steps, rate in counts]
            n, power = min(powers, key=lambda p: p[1])
            return Evidence(n, COIN_ALPHA, power, "1.5 times the declared rate")
        if check == "steps":
            return Evidence(len(replayed), 1e-9 * len(replayed), math.nan, "")
        if check == "same_path":
            return Evidence(PATH_RUNS, max(self._alpha, 1e-3) ** 2, math.nan, "")
        return Evidence(len(replayed), 0.0, math.nan, "")

    def _first(self, fault: Callable[[str, Replay], str]) -> str:
        told = (fault(pair, r) for pair, r in self.replays if isinstance(r, Replay))
        return next(filter(None, told), "")

    def runs(self) -> str:
        """No exception on any pair, and the same releases in the same order."""
        failed = [(pair, r) for pair, r in self.replays if not isinstance(r, Replay)]
        return f"{failed[0][0]}: {type(failed[0][1]).__name__}: {failed[0][1]}" if failed else ""

    def sensitivity(self) -> str:
        """No release moves by more than its event declares."""

        def fault(pair: str, r: Replay) -> str:
            worst = max(r.gaps, key=lambda g: g.ratio, default=None)
            if worst is None or worst.ratio <= 1 + ROUNDING:
                return ""
            return f"{pair}: '{worst.what}' moved by {worst.ratio:.4g} times its declared sensitivity"

        return self._first(fault)

    def posterior(self) -> str:
        """Nothing but releases reaches the posterior."""
        words = "equal releases, posterior parameters differ by"
        return self._first(
            lambda pair, r: f"{pair}: {words} {r.posterior_change:.3g}" if r.posterior_change > 0 else ""
        )

    def diagnostics(self) -> str:
        """Nothing but releases reaches the diagnostics."""
        return self._first(
            lambda pair, r: (
                f"{pair}: equal releases, {', '.join(r.diagnostics_differ)} differ" if r.diagnostics_differ else ""
            )
        )

    def events(self) -> str:
        """No declared number depends on rows."""
        return self._first(lambda pair, r: f"{pair}: the ledgers differ" if r.events_differ else "")

    def steps(self) -> str:
        """The events of all releases stand in the ledger, and there are as many as it says."""
        return self._first(_steps_fault)

    def sampling(self) -> str:
        """See :func:`sampling_fault`; at a false-alarm rate of 1e-3."""
        try:
            return sampling_fault(*self._fit)
        except StructureDiffers as error:
            return f"one row moves which releases there are: {error}"

    def ledger(self) -> str:
        """A finite epsilon."""
        from privacy.accountants import epsilon_of

        cost = epsilon_of(run(*self._fit).ledger, 1e-5 if self._fit[3].delta is None else self._fit[3].delta)
        return "" if 0 < cost.epsilon < math.inf else f"epsilon = {cost.epsilon} ({cost.accountant})"

    def noise(self) -> str:
        """See :func:`noise_fault`."""
        return noise_fault(*self._fit, self._samples, self._alpha)

    def noise_used(self) -> str:
        """Other noise gives another posterior."""
        return "" if noise_matters(*self._fit) else "other noise gives the same posterior"

    def same_path(self) -> str:
        """See :func:`same_path`; at a false-alarm rate of 1e-3 where the two are not equal."""
        return same_path(*self._fit, alpha=max(self._alpha, 1e-3))


#: the checks by name, those that are cheap and find much first; what needs a whole fit is asked only after ``runs``.
CHECKS = (
    *("runs", "sensitivity", "posterior", "diagnostics", "events", "steps", "ledger", "noise", "sampling"),
    *("noise_used", "same_path"),
)


def checks(
    method, task, settings, spec: BudgetSpec, seed: int, samples: int = SAMPLES, alpha: float = NOISE_ALPHA
) -> dict[str, str]:
    """Every check of :class:`Audit`; name -> "" (passed) or what was found."""
    audit = Audit(method, task, settings, spec, seed, samples, alpha)
    found = dict.fromkeys(CHECKS, "")
    for name in CHECKS:
        if found["runs"] and name in ("ledger", "noise", "sampling", "noise_used", "same_path"):
            continue
        found[name] = getattr(audit, name)()
    return found


def _steps_fault(pair: str, r: Replay) -> str:
    for event in r.recorded.events:
        if not any(same_event(event, charged) for charged in r.ledger):
            return f"{pair}: the ledger holds no event as that of the release '{event.what}'"
    for event, gap in zip(r.ledger, r.gaps, strict=True):
        made = gap.moved if event.sampling in EPOCHS else gap.releases
        if made > event.steps:
            return f"{pair}: '{event.what}' {made} releases count, the ledger says {event.steps}"
        if event.sampling in (Sampling.POISSON, Sampling.WITHOUT_REPLACEMENT):
            # the differing row is read by Binomial(releases, rate) of them; false-alarm rate 1e-9
            most = stats.binom.isf(1e-9, gap.releases, event.sampling_rate)
            if gap.moved > most:
                return f"{pair}: '{event.what}' {gap.moved} releases moved, sampling rate allows {most:.0f}"
    return ""
