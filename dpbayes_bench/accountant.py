"""The budget of all fits of one table, in one process or in a file."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any


class BudgetSpent(RuntimeError):
    """An :class:`Accountant` has too little budget left for a fit."""


class BudgetFileError(RuntimeError):
    """The file of an :class:`Accountant` cannot be used. Nothing was fitted."""


class Accountant:
    """Adds up the cost of fits of the same rows by basic composition, and refuses a fit that would cost too much.

    A fit is charged before it reads a row, and stays charged if it fails.

    Parameters
    ----------
    epsilon, delta : the budget of all fits together. None takes that of the file.
    file : a file that holds the sum, for fits of several processes. :meth:`start` makes it. None: it counts in this
        process.

    Copies are the same accountant, so that clones of scikit-learn share it. A pickled one without a file refuses every
    fit, because it would count anew. Raises ValueError for a wrong budget, and BudgetFileError for a file that is
    missing, damaged or of another budget.
    """

    def __init__(self, epsilon: float | None = None, delta: float | None = None, file: str | Path | None = None):
        self.file = None if file is None else Path(file).absolute()
        self._spent, self._closed = (0.0, 0.0), False
        if self.file is None or not (epsilon is None and delta is None):
            self.epsilon, self.delta = checked_budget(epsilon, delta)
        if self.file is not None:
            held, _ = _read(self.file)
            if not (epsilon is None and delta is None) and held != (self.epsilon, self.delta):
                raise BudgetFileError(
                    f"{self.file} is of a budget of epsilon = {held[0]:g} at delta = {held[1]:g}, not of "
                    f"{self.epsilon:g} at {self.delta:g}; give its own budget, or none"
                )
            self.epsilon, self.delta = held

    @classmethod
    def start(cls, epsilon: float, delta: float, file: str | Path) -> Accountant:
        """Make the file of a new budget, of which nothing is spent.

        Raises ValueError for a wrong budget, and BudgetFileError for a file that is there, because it may hold a sum.
        """
        budget, path = checked_budget(epsilon, delta), Path(file).absolute()
        with _locked(path):
            if path.exists():
                raise BudgetFileError(f"{path} is there already; go on with it, and never start a table's budget anew")
            _write(path, budget, [])
        return cls(*budget, file=path)

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta charged so far. Raises BudgetFileError."""
        return self._spent if self.file is None else _sum(_read(self.file)[1])

    def charge(self, epsilon: float, delta: float, what: str = "fit") -> None:
        """Charge a fit. Raises BudgetSpent, and charges nothing, if the sum would exceed the budget.

        ``what`` names the fit in the file. The file is replaced at once, under a lock, so that two processes cannot
        both spend the rest. Raises ValueError for a cost that is not a number of at least 0, and BudgetFileError.
        """
        if not (epsilon >= 0 and delta >= 0):
            raise ValueError(f"a cost of epsilon = {epsilon:g} at delta = {delta:g}: give two numbers of at least 0")
        if self._closed:
            raise BudgetSpent(
                "this accountant is a copy that was pickled, and would count anew; use n_jobs=1, or an accountant with "
                "a file"
            )
        if self.file is None:
            self._spent = self._total(self._spent, epsilon, delta)
            return
        with _locked(self.file):
            held, fits = _read(self.file)
            if held != (self.epsilon, self.delta):
                raise BudgetFileError(f"{self.file} has another budget than when it was opened; open it again")
            self._total(_sum(fits), epsilon, delta)
            _write(self.file, held, [*fits, {"epsilon": float(epsilon), "delta": float(delta), "what": what}])

    def _total(self, spent: tuple[float, float], epsilon: float, delta: float) -> tuple[float, float]:
        total = spent[0] + epsilon, spent[1] + delta
        if not (total[0] <= self.epsilon * (1 + 1e-9) and total[1] <= self.delta * (1 + 1e-9)):
            raise BudgetSpent(
                f"this fit would bring the sum to epsilon = {total[0]:g} at delta = {total[1]:g}; the accountant has "
                f"{self.epsilon:g} at {self.delta:g}. Fit once with settings chosen beforehand, or on public rows."
            )
        return total

    def __deepcopy__(self, memo: object = None) -> Accountant:
        return self

    __copy__ = __deepcopy__

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_closed": self.file is None}


def checked_budget(epsilon: Any, delta: Any) -> tuple[float, float]:
    """Epsilon and delta as floats. Raises ValueError for values that are not a budget."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"{name} = {value!r} is not a number; give one, such as {name}={_SUCH[name]}")
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon = {epsilon:g} is no budget; give a finite number above 0")
    if not 0 < delta < 1:
        raise ValueError(f"delta = {delta:g} is no probability; give one above 0 and far below 1 / rows")
    return float(epsilon), float(delta)


_SUCH = {"epsilon": "1.0", "delta": "1e-6"}


def _sum(fits: list[dict[str, Any]]) -> tuple[float, float]:
    return math.fsum(f["epsilon"] for f in fits), math.fsum(f["delta"] for f in fits)


def _read(path: Path) -> tuple[tuple[float, float], list[dict[str, Any]]]:
    """The budget of a file and its fits. Raises BudgetFileError."""
    if not path.is_file():
        raise BudgetFileError(
            f"no budget file {path}; if its table was never fitted, make it with Accountant.start(epsilon, delta, file)"
        )
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        fits = [{"what": str(f["what"]), **dict(zip(_SUCH, _cost(f), strict=True))} for f in told["fits"]]
        return checked_budget(told["epsilon"], told["delta"]), fits
    except (ValueError, TypeError, KeyError, OSError) as e:
        raise BudgetFileError(
            f"the budget file {path} is damaged ({type(e).__name__}), so nobody knows what is spent; restore it from a "
            "copy, and do not fit this table until then"
        ) from None


def _cost(fit: dict[str, Any]) -> tuple[float, float]:
    cost = float(fit["epsilon"]), float(fit["delta"])
    if not all(math.isfinite(c) and c >= 0 for c in cost):
        raise ValueError("a cost below 0")
    return cost


def _write(path: Path, budget: tuple[float, float], fits: list[dict[str, Any]]) -> None:
    """Replace the file at once, so that no reader and no crash sees a part of it."""
    text = json.dumps({"epsilon": budget[0], "delta": budget[1], "fits": fits}, indent=1)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(text + "\n")
            f.flush()
            os.fsync(f.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name survives a power cut, too
    finally:
        os.close(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a budget file. It ends with the process, whatever ends that."""
    import fcntl  # not on Windows, where only a budget without a file works

    if not path.parent.is_dir():
        raise BudgetFileError(f"no folder {path.parent} for the budget file; make it, or name another file")
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
