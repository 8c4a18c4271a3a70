"""What the texts of these findings may use besides their own expressions."""

from papers.chen2025dppf import tables


def shared(rows) -> dict[str, object]:
    """Names for all of them."""
    return tables.evidence(**{name: rows(name).to_dict("records") for name in tables.READ})
