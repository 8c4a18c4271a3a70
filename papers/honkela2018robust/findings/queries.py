"""Functions and values that the texts of these findings may use."""

from papers.honkela2018robust import tables


def shared(rows) -> dict[str, object]:
    """Names for all of them."""
    return tables.evidence(**{name: rows(name).to_dict("records") for name in tables.READ})
