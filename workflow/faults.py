"""Decides who is at fault. A fault of the machine stops the job. A fault of a method becomes rows of that method.

The result of a fit is checked only here, in two places. :func:`facts_of` runs in the process that fits, so that a check
that hangs meets the limits of the fit. :func:`rows_of` runs in the process that asked for the fit, and trusts nothing
that it gets.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import numbers
import os
import re
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil

from datasets.store import Damaged
from methods.contract import Fit, Method, MethodError
from models import posteriors
from models.task import Task
from privacy.ledger import Ledger
from workflow import store

# ------------------------------------------------------------------------------------------------------ the machine

AGAIN = "then run the same command again: it goes on where it was"
_MOUNT = "mount the folder again"
#: what the system says when a disk, a mount or its own tables are to blame, and what helps.
REMEDIES = {
    **dict.fromkeys(("ENOSPC", "EDQUOT"), "free some space"),
    **dict.fromkeys(("EIO", "ESTALE", "ENOTCONN", "ENODEV", "ENXIO", "ETIMEDOUT", "EHOSTDOWN", "EREMOTEIO"), _MOUNT),
    **dict.fromkeys(("EROFS", "EACCES", "EPERM"), "make the folder writable"),
    **dict.fromkeys(("EXDEV", "EBUSY", "ENOENT"), "look at how the folder is mounted"),
    "EFBIG": "raise the limit of the size of files (ulimit -f)",
    **dict.fromkeys(("EMFILE", "ENFILE"), "raise the limit of open files (ulimit -n)"),
    **dict.fromkeys(("ENOMEM", "EAGAIN"), "free some memory, or run fewer cells at once (--cores)"),
}
_REMEDY_OF = {getattr(errno, name): remedy for name, remedy in REMEDIES.items() if hasattr(errno, name)}
#: messages of libraries with their own allocator, and of a worker that imports a method, on missing memory.
_NO_MEMORY = (
    "RESOURCE_EXHAUSTED",
    "can't allocate memory",
    "Unable to allocate",
    "std::bad_alloc",
    "cannot be imported: MemoryError",
)
#: signals by which the system or a user ends a process. All others come from the program.
KILLED = tuple(
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGBUS", "SIGXCPU", "SIGXFSZ")
    if hasattr(signal, name)
)
#: variables that name the folders in which libraries keep what they have compiled.
CACHES = ("JAX_COMPILATION_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR")
#: number of attempts, after which a fault is the method's if the machine can do what the fit needs.
ATTEMPTS = 3


class MachineFault(RuntimeError):
    """A fault of the machine. The message says what it was and what to do.

    ``certain``: no fit can have caused it, so that it is not tried again.
    """

    def __init__(self, text: str, certain: bool = False):
        super().__init__(text)
        self.certain = certain


class Repeated(MethodError):
    """A fault that a method met at each attempt, although the machine has memory and space."""


def fault_of(error: BaseException, results: Path | None = None) -> MachineFault | None:
    """The fault of the machine that an error reports, or None if a method (or the suite) is to blame.

    ``results``: folder of the run. If it is given, an error of the file system counts as the machine's only below this
    folder, the temporary folder and the caches of libraries.
    """
    if isinstance(error, MachineFault):
        return error
    if isinstance(error, Damaged):
        return MachineFault(str(error), certain=True)
    text = said(error)
    if isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY):
        return MachineFault(f"no memory ({_words(error)}); {REMEDIES['ENOMEM']}, {AGAIN}")
    if not isinstance(error, OSError) or error.errno not in _REMEDY_OF:
        return None
    if error.errno == errno.ENOENT and error.filename2 is None:
        return None  # a file that was looked for; one that is to be renamed has been written
    if results is not None and not _ours([error.filename, error.filename2], results):
        return None
    return MachineFault(f"{_words(error)}; {_REMEDY_OF[error.errno]}, {AGAIN}")


def _ours(names: Sequence[object], results: Path) -> bool:
    """Whether one of these files is in a folder of the suite. True if the error names no file."""
    named = [os.fsdecode(name) for name in names if isinstance(name, str | bytes | os.PathLike)]
    folders = [results, tempfile.gettempdir(), *(os.environ[name] for name in CACHES if os.environ.get(name))]
    roots = [os.path.realpath(folder) for folder in folders]
    for path in map(os.path.realpath, named):
        if any(os.path.commonpath([path, root]) == root for root in roots) or "__pycache__" in path.split(os.sep):
            return True
    return not named


def killed(exitcode: int) -> MachineFault | None:
    """The fault of the machine that an exit code reports (negative: a signal), or None."""
    if -exitcode not in KILLED:
        return None
    what = f"the fit's process was ended by {signal.Signals(-exitcode).name} (killed, or out of memory)"
    return MachineFault(f"{what}; {REMEDIES['ENOMEM']}, {AGAIN}")


def able(folder: Path, mem_mb: float) -> bool:
    """Whether this machine can now write a file as large as a posterior may be, and allocate ``mem_mb``."""
    if resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY:
        return False  # whoever set a limit of CPU time may also have ended the process
    try:
        folder.mkdir(parents=True, exist_ok=True)  # a fit may have removed it
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(POSTERIOR_BYTES))
            file.flush()
            os.fsync(file.fileno())
        mmap.mmap(-1, int(mem_mb * 2**20)).close()
    except (OSError, ValueError, OverflowError, MemoryError):
        return False
    return psutil.virtual_memory().available >= mem_mb * 2**20


Made = TypeVar("Made")


def thrice(name: str, make: Callable[[], Made], folder: Path, mem_mb: float) -> Made:
    """The result of ``make`` for the cell ``name``, which is tried three times.

    Raises what ``make`` raises. If the machine is not :func:`able`, raises MachineFault at once. Otherwise ``make`` is
    tried again, and a fault at the last attempt raises Repeated: the method is then to blame.
    """
    for number in range(1, ATTEMPTS + 1):
        try:
            return make()
        except Exception as error:
            fault = fault_of(error)
            if fault is None:
                raise
            store.say(name, f"attempt {number} of {ATTEMPTS}: {fault}")
            if fault.certain or not able(folder, mem_mb):
                raise fault from error
            last = str(fault).removesuffix(f", {AGAIN}").rpartition("; ")[0] or str(fault)
    raise Repeated(clean(f"at each of {ATTEMPTS} attempts: {last}. This machine has memory and space"))


@contextmanager
def one_error() -> Iterator[None]:
    """End a program with one line and status 1 if the machine is to blame. All other errors pass."""
    try:
        yield
    except Exception as error:
        fault = fault_of(error)
        if fault is None:
            raise
        line = f"error: {fault}"
        try:
            print(line, file=sys.stderr, flush=True)
        except OSError:  # the log lies on the same full disk
            print(line, flush=True)
        raise SystemExit(1) from None


# -------------------------------------------------------------------------------------------------------- the words

#: the largest length of a reason, in characters.
LETTERS = 2000


def clean(text: str, most: int = LETTERS) -> str:
    """A text that every file and page can hold: limited in length, with control characters and surrogates escaped."""
    plain = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text[: most + 1])
    text = "".join(plain)
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def said(error: BaseException) -> str:
    """The class and message of an error, :func:`clean`."""
    try:
        return clean(f"{type(error).__name__}: {error}")
    except BaseException:  # its own text raises
        return f"{type(error).__name__}, whose text cannot be read"


def _words(error: BaseException) -> str:
    return " ".join(said(error).removeprefix(f"{type(error).__name__}: ").split()) or type(error).__name__


# ------------------------------------------------------------------------------------------ what a method has returned

#: the largest size in bytes of a posterior, of its ledger and diagnostics, and of one answer.
POSTERIOR_BYTES, FACTS_BYTES, ANSWER_BYTES = 50 * 2**20, 2**22, 2**28
#: the largest number of diagnostics, or of arrays of a posterior.
ENTRIES = 1000
#: the largest length of a name, and of a text of the ledger, in characters.
NAME, TEXT = 200, 1000
#: kinds of array that can be read without running code: numbers, booleans, strings.
_PLAIN = "biufcUS"
#: number of rows that the rebuilt posterior must predict.
_ROWS = 2
#: NumPy's messages on shapes that do not match. Its other ValueErrors are about the numbers.
_SHAPES = re.compile(r"shape|dimension|broadcast|too many values|not enough values")
#: fields of a record that a process measures.
_MEASURED = ("seconds", "cpu_seconds", "compile_seconds", "peak_mb")


class BadFit(MethodError):
    """A fit that breaks the contract. The message names the method and what is wrong."""


def facts_of(method: Method, task: Task, fit: object, delta: float | None = None) -> tuple[dict, dict[str, np.ndarray]]:
    """Ledger, diagnostics and kind of a fit as a record holds them, and the arrays of its posterior.

    ``delta``: the delta at which the ledger must have an epsilon (default: 1e-5). Raises BadFit if the fit breaks the
    contract. The caller looks for NaN and infinity in the posterior, because they are a result: ``diverged``.
    """
    name = method.name
    if not isinstance(fit, Fit):
        raise BadFit(f"{name} gives {_kind(fit)} where a methods.contract.Fit is due")
    facts = {
        "diagnostics": _numbers(name, fit.diagnostics),
        "ledger": _events(name, fit.ledger, 1e-5 if delta is None else delta),
    }
    parameters = _stored(name, task, fit.posterior)
    facts["posterior_kind"] = str(fit.posterior.kind)
    if len(json.dumps(facts)) > FACTS_BYTES:
        raise BadFit(f"{name}: its ledger and diagnostics take more than {FACTS_BYTES / 2**20:g} MB; merge events")
    return facts, parameters


def _numbers(name: str, given: object) -> dict[str, float]:
    """The finite diagnostics."""
    if not isinstance(given, Mapping):
        raise BadFit(f"{name}: its diagnostics are {_kind(given)}; give a mapping of words to numbers")
    out: dict[str, float] = {}
    for word, value in islice(given.items(), ENTRIES + 1):
        number = isinstance(value, numbers.Real | np.bool_) or (isinstance(value, np.ndarray) and value.size == 1)
        if not isinstance(word, str) or not number:
            raise BadFit(f"{name}: diagnostic {clean(repr(word), NAME)} is {_kind(value)}; give one number")
        if math.isfinite(as_float := float(value.item() if isinstance(value, np.ndarray) else value)):
            out[clean(word, NAME)] = as_float
        if len(out) > ENTRIES:
            raise BadFit(f"{name}: more than {ENTRIES} diagnostics; give fewer")
    return out


def _events(name: str, given: object, delta: float) -> list[dict]:
    """Rows of a ledger that has an epsilon at ``delta``. JSON has no infinity: a sensitivity may be "inf"."""
    from privacy.accountants import epsilon_of

    if not isinstance(given, Ledger):
        raise BadFit(f"{name}: its ledger is {_kind(given)}; give the ledger of the budget")
    try:
        ledger = Ledger.from_json(given.to_json())
        rows = ledger.to_json()
        for row in rows:
            for key in ("what", "proof", "generator"):
                row[key] = clean(str(row[key]), TEXT)
            for key in {"sensitivity", "noise_scale", "sampling_rate", "contribution"} & row.keys():
                row[key] = float(row[key])
            row["steps"] = int(row["steps"])
            listed = [row["noise_scale"], row["sampling_rate"], *(v for pair in row["renyi_curve"] for v in pair)]
            if not all(map(math.isfinite, listed)):
                raise ValueError(f"{row['what']}: noise_scale, sampling_rate and renyi_curve have to be finite")
            row["sensitivity"] = row["sensitivity"] if math.isfinite(row["sensitivity"]) else "inf"
        epsilon_of(ledger, delta)
    except Exception as error:
        raise BadFit(f"{name}: no epsilon can be computed from its ledger: {said(error)}") from error
    return rows


def _stored(name: str, task: Task, posterior) -> dict[str, np.ndarray]:
    kind = getattr(posterior, "kind", None)
    if not isinstance(kind, str) or not callable(getattr(posterior, "parameters", None)):
        raise BadFit(f"{name}: its posterior is {_kind(posterior)}, without `kind` or without `parameters()`")
    given = posterior.parameters()
    if not isinstance(given, Mapping) or not all(isinstance(word, str) for word in islice(given, ENTRIES + 1)):
        raise BadFit(f"{name}: parameters() of its posterior gives {_kind(given)}; give name -> array")
    parameters = {word: np.asarray(value) for word, value in islice(given.items(), ENTRIES + 1)}
    if len(parameters) > ENTRIES or any(len(word) > NAME for word in parameters):
        raise BadFit(f"{name}: its posterior has more than {ENTRIES} arrays, or names above {NAME} letters")
    if odd := [word for word, value in parameters.items() if value.dtype.kind not in _PLAIN]:
        raise BadFit(f"{name}: the posterior's {odd[0]} is an array of {parameters[odd[0]].dtype}; give numbers")
    if (size := sum(value.nbytes for value in parameters.values())) > POSTERIOR_BYTES:
        raise BadFit(f"{name}: its posterior takes {size / 2**20:.0f} MB, more than {POSTERIOR_BYTES / 2**20:g} MB")
    if not_finite(parameters) is None:
        try:
            rebuilt = posteriors.load(kind, parameters)
            if hasattr(rebuilt, "predictive"):
                with np.errstate(all="ignore"):
                    # a generator of its own: the fit's and the scores' stay where they are
                    rebuilt.predictive(task.x[:_ROWS], np.random.default_rng(0))
        except Exception as error:
            if isinstance(error, ValueError | FloatingPointError) and not _SHAPES.search(str(error)):
                return parameters
            shapes = ", ".join(f"{word} {value.shape}" for word, value in parameters.items())
            words = error.args[0] if isinstance(error, KeyError) and error.args else error
            raise BadFit(f"{name}: no '{kind}' that predicts can be made of {shapes}: {words}") from error
    return parameters


def not_finite(parameters: Mapping[str, np.ndarray]) -> str | None:
    """The name of the first array with a NaN or an infinity, or None."""
    return next((n for n, v in parameters.items() if v.dtype.kind in "fc" and not np.isfinite(v).all()), None)


def _kind(value: object) -> str:
    return f"a {clean(type(value).__name__, NAME)}"


# --------------------------------------------------------------------------------------- what a process has answered


class BadAnswer(MethodError):
    """An answer that does not fit its request."""


def rows_of(answer: Path, pairs: Sequence[tuple], folder: Path) -> list[tuple[str, dict]]:
    """Pairs (cell id, record) of the answer to ``pairs`` (cell, split), in their order.

    ``folder``: holds the parameters of the posteriors. Raises MachineFault if the answer reports one. Raises BadAnswer
    unless the answer has exactly these pairs, each record is complete, and each posterior can be read without running
    code.
    """
    try:
        if answer.stat().st_size > ANSWER_BYTES:
            raise ValueError(f"it takes more than {ANSWER_BYTES / 2**20:g} MB")
        given = json.loads(answer.read_text(encoding="utf-8"))
        if isinstance(given, dict):
            raise MachineFault(clean(str(given["fault"])))
        rows = {(str(name), int(k)): dict(row) for name, k, row in given}
        asked = [(cell.id, k) for cell, k in pairs]
        if sorted(rows) != sorted(asked) or len(given) != len(asked):
            raise ValueError(f"it is about {sorted(rows)[:3]}, not about {sorted(asked)[:3]}")
        return [(cell.id, _record(cell, k, rows[cell.id, k], folder)) for cell, k in pairs]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, BadFit) as error:
        raise BadAnswer(f"the fit's process gave no answer that can be used: {said(error)}") from error


def _record(cell, split: int, given: dict, folder: Path) -> dict:
    """One checked record. Raises ValueError or TypeError."""
    facts: dict = {}
    for key in _MEASURED:
        if (value := given.get(key)) is not None:
            facts[key] = float(value)
            if not (math.isfinite(facts[key]) and facts[key] >= 0):
                raise ValueError(f"{key} is {facts[key]}")
    if given["status"] in ("ok", "diverged"):
        facts["posterior_kind"] = None if given["posterior_kind"] is None else str(given["posterior_kind"])
        facts["diagnostics"] = _numbers(cell.method, given["diagnostics"])
        facts["ledger"] = given["ledger"]
        if not all(isinstance(row, dict) for row in given["ledger"]):
            raise TypeError("its ledger has rows that are not objects")
        json.dumps(given["ledger"], allow_nan=False)
    if given["status"] == "ok":
        path = folder / store.parameter_file(cell.id, split)
        if not store.whole(path):
            raise ValueError(f"the posterior of split {split} is not there, or not whole")
        with np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                arrays[name].shape  # noqa: B018 - raises for an array that cannot be read without running code
    return store.empty_record(cell, split, str(given["status"]), clean(str(given["reason"])), **facts)
