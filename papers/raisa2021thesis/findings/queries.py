"""Functions and values that the texts of these findings may use."""

from papers.raisa2021thesis import PAPER, run
from papers.raisa2021thesis.tables import METHODS, METRICS, MODELS, epsilon_of


def raisa2021_boxes(rows) -> dict[str, object]:
    def paid(method: str, against: str) -> str:
        """Median MMD from a privately estimated start minus that of ``against`` (starts or boxes), by epsilon."""
        told = run.config()["starts"]
        at = {
            (r["start"], int(r["epsilon"])): float(r["median"])
            for r in rows("starts", method=method).to_dict("records")
        }
        theirs = {e: at["published", e] for e in told["epsilons"]}
        if against == "boxes":
            cells = rows("verdicts", dataset=told["model"], method=method, metric="mmd")
            theirs = {epsilon_of(r["setting"]): float(r["median"]) for r in cells.to_dict("records")}
        return ", ".join(f"{at['paid for', e] - theirs[e]:+.2f}" for e in told["epsilons"])

    known = {"METHODS": METHODS, "MODELS": MODELS, "METRICS": METRICS, "paid": paid}
    return known | {"config": run.config() | {"family": PAPER.family}}
