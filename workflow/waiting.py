"""Waiting for the answer of a worker, with an eye on the clock and on its memory."""

from __future__ import annotations

import time

from workflow.machine import AGAIN, MachineFault
from workflow.processes import resident_mb

#: seconds between two looks at the memory of a worker.
LOOK = 0.5


def answered(pipe, pid: int, seconds: float, mem_mb: float) -> bool:
    """Is there an answer within ``seconds``? Raises MachineFault where the worker takes more than ``mem_mb``."""
    end = time.monotonic() + seconds
    while not pipe.poll(max(0.0, min(LOOK, end - time.monotonic()))):
        if (taken := resident_mb(pid)) > mem_mb:
            raise MachineFault(
                f"the fit's process takes {taken:.0f} MB, more than the {mem_mb:g} MB of its cell; raise mem_mb in the "
                f"experiment's config, {AGAIN}"
            )
        if time.monotonic() >= end:
            return False
    return True
