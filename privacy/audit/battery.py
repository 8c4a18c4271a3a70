"""Every check of one adapter on one task."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from privacy.audit import rare
from privacy.audit.forged import FORGERIES, QUIET, forged_fault, supports_fault
from privacy.audit.noise import MOST_FITS, NOISE_ALPHA, SAMPLES, noise_fault, noise_power
from privacy.audit.pairs import ROWS, neighbours, with_altered_row
from privacy.audit.paths import noise_matters, same_path
from privacy.audit.replays import REFUSED, ROUNDING, Replay, StructureDiffers, quiet, replay, run, same_event
from privacy.audit.sampling import COIN_ALPHA, SEEDS, fits_for, is_poisson, sampling_fault, share_power
from privacy.audit.search import Found, climb
from privacy.budget import BudgetSpec
from privacy.ledger import EPOCHS, Mechanism, Sampling

#: replays per search
EVALUATIONS = 80


@dataclass(frozen=True)
class Evidence:
    """The statistical strength of a check that an adapter passed.

    ``n`` pairs, releases or numbers were compared. A correct adapter fails with probability ``false_alarm`` at most.
    ``power`` is the probability that a copy with the fault ``against`` fails, or NaN if such a fault has no size.
    """

    n: int
    false_alarm: float
    power: float
    against: str


class Audit:
    """The checks of one adapter on one task. Each runs when its method is called, and shared replays are kept.

    A check returns "" if it passes, otherwise what it found.

    Parameters
    ----------
    samples, alpha : arguments of :func:`noise_fault`.
    only : names of the pairs of :func:`neighbours` to replay; by default all.
    short : settings for the checks that make many fits (search, forged replays, secrets); by default ``settings``.
    long : settings for the check of late steps, which is skipped without them.
    evaluations : replays of the search.
    fits : fits of the check for secrets.
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
        only: Sequence[str] = (),
        short=None,
        long=None,
        evaluations: int = EVALUATIONS,
        fits: int = rare.SECRETS,
    ):
        self.method, self.task, self.spec, self.seed = method, task, spec, seed
        self._only = tuple(only)
        self._short, self._long = (method, task, settings if short is None else short, spec, seed), long
        self._evaluations, self._fits = evaluations, fits
        self._fit = (method, task, settings, spec, seed)
        self._samples, self._alpha = samples, alpha

    @cached_property
    def replays(self) -> list[tuple[str, Replay | Exception]]:
        """Each pair of :func:`neighbours` by name, with its replay or the exception that ended it."""
        method, task, settings, spec, seed = self._fit
        out: list[tuple[str, Replay | Exception]] = []
        for pair, d, dprime in neighbours(task, method.privacy):
            if self._only and pair not in self._only:
                continue
            try:
                out.append((pair, replay(method, d, dprime, settings, spec, seed)))
            except REFUSED as error:
                out.append((pair, error))
        return out

    @property
    def reached(self) -> float:
        """The largest change of a release on these pairs, as a part of its declared sensitivity."""
        return max((r.ratio for _, r in self.replays if isinstance(r, Replay)), default=0.0)

    @cached_property
    def found(self) -> Found:
        """The sensitivity that the search reaches per event; see ``privacy.audit.search``."""
        method, task, settings, spec, seed = self._short
        specs = (spec, quiet(spec))
        return climb(method, task, settings, specs, seed, np.random.default_rng(seed), self._evaluations)

    @property
    def shares(self) -> dict[str, float]:
        """For each event, the part of its declared sensitivity that fixed and searched pairs reach."""
        parts = dict(self.found.reached)
        for _, r in self.replays:
            for gap in r.gaps if isinstance(r, Replay) else ():
                parts[gap.what] = max(parts.get(gap.what, 0.0), gap.ratio)
        return parts

    def evidence(self, check: str) -> Evidence:
        """The evidence behind a passed ``check``; see :class:`Evidence`."""
        replayed = [r for _, r in self.replays if isinstance(r, Replay)]
        if check == "sensitivity":
            moves = sum(g.releases for r in replayed for g in r.gaps)
            share = f"{min(self.reached, 1.0):.3f}"
            return Evidence(moves, 0.0, 1.0, f"a sensitivity declared below {share} of what it is")
        if check == "searched":
            told = ", ".join(f"{min(part, 1.0):.3f} ({what})" for what, part in self.shares.items())
            return Evidence(
                self._evaluations, 0.0, 1.0, f"a sensitivity declared below this part of what it is: {told}"
            )
        if check == "forged":
            return Evidence(len(FORGERIES) + len(QUIET), 0.0, math.nan, "")
        if check == "tails":
            power = rare.tail_power(self._alpha / 4)
            return Evidence(rare.TAIL_SAMPLES, self._alpha, power, f"noise cut at {rare.FAR:g} deviations")
        if check == "secrets":
            return Evidence(self._fits, 0.0, rare.collision(16, self._fits), "secrets of 16 bits")
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
        return Evidence(len(replayed), 0.0, math.nan, "")

    def _first(self, fault: Callable[[str, Replay], str]) -> str:
        told = (fault(pair, r) for pair, r in self.replays if isinstance(r, Replay))
        return next(filter(None, told), "")

    def runs(self) -> str:
        """Check that no pair raises an exception, and that both runs make the same releases in the same order."""
        failed = [(pair, r) for pair, r in self.replays if not isinstance(r, Replay)]
        return f"{failed[0][0]}: {type(failed[0][1]).__name__}: {failed[0][1]}" if failed else ""

    def sensitivity(self) -> str:
        """Check that no release changes by more than its declared sensitivity, or by one row than is stated of it."""

        def fault(pair: str, r: Replay) -> str:
            worst = max(r.gaps, key=lambda g: g.ratio, default=None)
            if worst is None or worst.ratio <= 1 + ROUNDING:
                return ""
            return f"{pair}: '{worst.what}' moved by {worst.ratio:.4g} times its declared sensitivity"

        return self._first(fault) or self._contribution()

    def _contribution(self) -> str:
        """Compare the contribution of one row with the stated one: replay on equal data, without it in any batch.

        Only Poisson events are compared, because no epsilon depends on the contribution to another one. An event whose
        releases do not move is a fault too: the batches of its method cannot be changed, so nothing was measured.
        """
        method, task, settings, spec, seed = self._fit
        ledgers = [r.ledger for _, r in self.replays if isinstance(r, Replay)]
        stated = {e.what: e.contribution for events in ledgers for e in events if e.contribution and is_poisson(e)}
        if not stated:
            return ""
        reached, last = dict.fromkeys(stated, 0.0), task.n - 1
        for name in ROWS:
            data = with_altered_row(task, last, name)
            try:
                gaps = replay(method, data, data, settings, spec, seed, without=last).gaps
            except REFUSED as error:
                return f"{name}, a row left out of its batches: {type(error).__name__}: {error}"
            for gap in gaps:
                if gap.what in stated:
                    reached[gap.what] = max(reached[gap.what], gap.measured / stated[gap.what])
        for what, part in reached.items():
            if part > 1 + ROUNDING:
                return f"'{what}': one row contributes {part:.4g} times what is stated"
            if part == 0:
                return f"'{what}' states a contribution, but no release moves if a row is left out of its batches"
        return ""

    def searched(self) -> str:
        """Check the same on pairs that are searched for this adapter."""
        what = self.found.violated
        return f"'{what}' moved by {self.found.reached[what]:.4g} times its declared sensitivity" if what else ""

    def posterior(self) -> str:
        """Check that equal releases give equal posteriors."""
        words = "equal releases, posterior parameters differ by"
        return self._first(
            lambda pair, r: f"{pair}: {words} {r.posterior_change:.3g}" if r.posterior_change > 0 else ""
        )

    def diagnostics(self) -> str:
        """Check that equal releases give equal diagnostics."""
        return self._first(
            lambda pair, r: (
                f"{pair}: equal releases, {', '.join(r.diagnostics_differ)} differ" if r.diagnostics_differ else ""
            )
        )

    def events(self) -> str:
        """Check that the two ledgers are equal, so no declared number depends on rows."""
        return self._first(lambda pair, r: f"{pair}: the ledgers differ" if r.events_differ else "")

    def steps(self) -> str:
        """Check that the ledger holds the event of each release, and counts enough steps."""
        return self._first(_steps_fault)

    def sampling(self) -> str:
        """Run :func:`sampling_fault` at a false-alarm rate of 1e-3."""
        try:
            return sampling_fault(*self._fit)
        except StructureDiffers as error:
            return f"one row moves which releases there are: {error}"

    def ledger(self) -> str:
        """Check that the epsilon of the ledger is finite and above 0."""
        from privacy.accountants import epsilon_of

        cost = epsilon_of(run(*self._fit).ledger, 1e-5 if self._fit[3].delta is None else self._fit[3].delta)
        return "" if 0 < cost.epsilon < math.inf else f"epsilon = {cost.epsilon} ({cost.accountant})"

    def noise(self) -> str:
        """Run :func:`noise_fault`."""
        return noise_fault(*self._fit, self._samples, self._alpha)

    def noise_used(self) -> str:
        """Check that other noise gives another posterior."""
        return "" if noise_matters(*self._fit) else "other noise gives the same posterior"

    def same_path(self) -> str:
        """Run :func:`same_path`."""
        return same_path(*self._fit)

    def forged(self) -> str:
        """Run :func:`forged_fault`."""
        return forged_fault(*self._short)

    def supports(self) -> str:
        """Run :func:`supports_fault`."""
        return supports_fault(self.method, self.task)

    def tails(self) -> str:
        """Run :func:`tail_fault`."""
        return rare.tail_fault(*self._fit, self._alpha)

    def secrets(self) -> str:
        """Run :func:`secret_fault`."""
        return rare.secret_fault(*self._short, self._fits)

    def enforced(self) -> str:
        """Run :func:`overspending`."""
        return rare.overspending(*self._fit)

    def late(self) -> str:
        """Run :func:`late_fault` if settings for it are given."""
        method, task, _, spec, seed = self._fit
        return "" if self._long is None else rare.late_fault(method, task, self._long, spec, seed)


#: each check, cheap ones first, with the faults that it finds. Checks that need whole fits run only if ``runs`` passes.
KILLS = {
    "runs": "rows decide whether a fit ends, or which releases it makes",
    "sensitivity": "a declared sensitivity, or a stated contribution, that an extreme row exceeds",
    "posterior": "the posterior depends on rows beside the releases",
    "diagnostics": "a diagnostic depends on rows beside the releases",
    "events": "a declared number depends on rows",
    "supports": "whether a method takes a task depends on its rows",
    "steps": "more releases, or less noise or sampling, than the ledger says",
    "ledger": "a ledger without a finite epsilon",
    "enforced": "noise that is calibrated to more than the budget",
    "noise_used": "noise that is not used, or that is not of the budget's stream",
    "same_path": "a fast path that uses its noise otherwise than the recorded one, in any block or for rare noise",
    "forged": "rows that decide what is done with rare outputs, what is prepared, or with which words a fit ends",
    "searched": "a declared sensitivity that is too small by a part that no fixed pair reaches",
    "tails": "noise that is cut far out",
    "noise": "noise of another distribution or scale, drawn twice, or correlated between neighbouring numbers",
    "sampling": "batches that are no independent coins at the declared rate",
    "late": "a fault after many steps only",
    "secrets": "noise or batches that follow from few bits",
}
CHECKS = tuple(KILLS)
#: checks that replay one pair at a time, or make no fit
_PAIRS = ("runs", "sensitivity", "posterior", "diagnostics", "events", "supports", "steps")
WHOLE_FITS = frozenset(CHECKS) - {*_PAIRS}


def checks(
    method, task, settings, spec: BudgetSpec, seed: int, samples: int = SAMPLES, alpha: float = NOISE_ALPHA
) -> dict[str, str]:
    """Run every check of :class:`Audit`. Returns name -> "" (passed) or what was found."""
    audit = Audit(method, task, settings, spec, seed, samples, alpha)
    found = dict.fromkeys(CHECKS, "")
    for name in CHECKS:
        if found["runs"] and name in WHOLE_FITS:
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
            # Binomial(releases, rate) releases read the differing row; false-alarm rate 1e-9
            most = stats.binom.isf(1e-9, gap.releases, event.sampling_rate)
            if gap.moved > most:
                return f"{pair}: '{event.what}' {gap.moved} releases moved, sampling rate allows {most:.0f}"
    return ""
