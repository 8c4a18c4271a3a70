"""Functions and values that the texts of these findings may use."""

from papers.honkela2018robust import tables


def shared(rows) -> dict[str, object]:
    """Names that all texts may use."""
    return tables.evidence(**{name: rows(name).to_dict("records") for name in tables.READ})
