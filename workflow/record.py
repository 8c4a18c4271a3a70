"""What is known of one split of a cell. ``status`` is from a closed list, and each but ``ok`` has its reason."""

from __future__ import annotations

STATUS = ("ok", "failed", "timeout", "diverged", "not_supported", "no_data")

#: stands in the reason of a split whose draws or scores ended with an error that is no number's.
RAISED = "raised"


def seed_text(seed: list[int] | None) -> str:
    """The words of a seed (``Cell.seed``) as a score row holds them; empty where nothing was fitted."""
    return "" if seed is None else "-".join(f"{word:08x}" for word in seed)


def empty_record(cell, split: int | None, status: str, reason: str, **facts) -> dict:
    """A record without numbers; ``facts`` fill in those that are known."""
    if status not in STATUS:
        raise ValueError(f"status '{status}'; choose one of {', '.join(STATUS)}")
    if (status == "ok") == bool(reason):
        raise ValueError(f"split {split}: a status but ok needs a reason, and ok has none")
    return {
        "split": split,
        "seed": cell.seed(split, "fit") if split is not None else None,
        "status": status,
        "reason": reason,
        "seconds": None,
        "cpu_seconds": None,
        "compile_seconds": None,
        "peak_mb": None,
        "diagnostics": {},
        "ledger": [],
        "posterior_kind": None,
        **facts,
    }


def parameter_file(cell_id: str, split: int) -> str:
    """Name of the file with the posterior's parameters of one fit, until its cell is written whole."""
    return f"{cell_id}.{split}.npz"
