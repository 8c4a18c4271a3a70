"""What the texts of these findings may use besides their own expressions."""

from papers.wang2018 import PAPER, data, run
from papers.wang2018.tables import METHODS, RULES, SHOWN


def shared(rows) -> dict[str, object]:
    """Names for all of them."""
    return {
        "METHODS": METHODS,
        "RULES": RULES,
        "EPSILONS": run.config()["epsilons"],
        "SHOWN": SHOWN,
        "family": PAPER.family,
        "WHY": {name: recipe.why for name, recipe in data.RECIPES.items() if recipe.why},
    }
