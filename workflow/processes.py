"""Processes that this one started, directly or not: ending them all, and the memory that one takes."""

from __future__ import annotations

import time

import psutil

#: seconds that processes are given to end by themselves.
GRACE = 20.0


def below(pid: int) -> list[psutil.Process]:
    """All processes that stem from ``pid`` at this moment."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def end_below(pid: int, grace: float = GRACE) -> None:
    """End all processes that stem from ``pid``: by SIGTERM, those that begin meanwhile too, and at last by SIGKILL."""
    asked: set[psutil.Process] = set()
    end = time.monotonic() + grace
    while (found := _alive(below(pid))) and time.monotonic() < end:
        for process in set(found) - asked:
            _send(process.terminate)
        asked |= set(found)
        time.sleep(0.05)
    # Those whose parent is gone stem from us no more, but were asked to end while they did.
    for process in _alive({*asked, *below(pid)}):
        _send(process.kill)


def resident_mb(pid: int) -> float:
    """Memory of a process in megabytes; 0 once it has ended."""
    try:
        return psutil.Process(pid).memory_info().rss / 2**20
    except psutil.Error:
        return 0.0


def _alive(processes) -> list[psutil.Process]:
    out = []
    for process in processes:
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                out.append(process)
        except psutil.NoSuchProcess:
            continue
    return out


def _send(signal) -> None:
    try:
        signal()
    except psutil.Error:
        return  # it has ended by itself
