"""Faults of the machine: no space, no memory, a killed process, a lost mount. They are no result of any method.

Where one is met the job stops with one clear error, no row is written, and the next call goes on where it was.
"""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from datasets.store import Damaged

AGAIN = "then run the same command again: it goes on where it was"
_MOUNT = "mount the folder again"
#: what the system says when a disk, a mount or its own tables are to blame, and what helps.
REMEDIES = {
    **dict.fromkeys(("ENOSPC", "EDQUOT"), "free some space"),
    **dict.fromkeys(("EIO", "ESTALE", "ENOTCONN", "ENODEV", "ENXIO", "ETIMEDOUT", "EHOSTDOWN", "EREMOTEIO"), _MOUNT),
    **dict.fromkeys(("EROFS", "EACCES", "EPERM"), "make the folder writable"),
    **dict.fromkeys(("EMFILE", "ENFILE"), "raise the limit of open files (ulimit -n)"),
    **dict.fromkeys(("ENOMEM", "EAGAIN"), "free some memory, or run fewer cells at once (--cores)"),
}
_REMEDY_OF = {getattr(errno, name): remedy for name, remedy in REMEDIES.items() if hasattr(errno, name)}
#: how libraries with an allocator of their own say that there is no memory.
_NO_MEMORY = ("RESOURCE_EXHAUSTED", "can't allocate memory", "Unable to allocate", "std::bad_alloc")
#: signals by which a system or its owner ends a process; by all others a program ends itself.
KILLED = tuple(
    getattr(signal, name)
    for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGBUS", "SIGXCPU", "SIGXFSZ")
    if hasattr(signal, name)
)


class MachineFault(RuntimeError):
    """A fault of the machine; the message says what it was and what to do."""


def fault_of(error: BaseException) -> MachineFault | None:
    """The fault of the machine that an error tells of, or None where a method (or the suite) is to blame."""
    if isinstance(error, MachineFault):
        return error
    if isinstance(error, Damaged):
        return MachineFault(str(error))
    if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
        return MachineFault(f"no memory ({_words(error)}); {REMEDIES['ENOMEM']}, {AGAIN}")
    if isinstance(error, OSError) and error.errno in _REMEDY_OF:
        return MachineFault(f"{_words(error)}; {_REMEDY_OF[error.errno]}, {AGAIN}")
    return None


def killed(exitcode: int) -> MachineFault | None:
    """The same of a process that ended with this code (negative: by that signal)."""
    if -exitcode not in KILLED:
        return None
    what = f"the fit's process was ended by {signal.Signals(-exitcode).name} (killed, or out of memory)"
    return MachineFault(f"{what}; {REMEDIES['ENOMEM']}, {AGAIN}")


@contextmanager
def one_error() -> Iterator[None]:
    """Ends a program with one line and status 1 where the machine is to blame; all other errors go on."""
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


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
