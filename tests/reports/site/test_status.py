"""The status of a method's privacy says what the ledger and the audit say."""

from types import SimpleNamespace

import pandas as pd
import pytest

from methods import contract
from privacy.ledger import Relation
from reports import privacy_claims
from reports.ledger import ANSWER, TOTAL
from reports.site import method_pages
from reports.site.status import NO_EPSILON, NOT_SHOWN, REFUTED, privacy_status

PRIVATE = SimpleNamespace(models=("bnn_regression",), privacy=Relation.ADD_REMOVE, leaks=())
OTHER = SimpleNamespace(models=("mixture_of_gaussians",), privacy=Relation.REPLACE_ONE, leaks=())
OPEN = SimpleNamespace(models=("bnn_regression",), privacy=None, leaks=())
NONE = pd.DataFrame()


def ledger(*rows):
    """Of (claimed, epsilon) per cell: the answer, and a looser accountant whose total stays out of it."""
    made = []
    for cell, (claimed, epsilon) in enumerate(rows):
        base = {"cell": str(cell), "event": TOTAL, "epsilon_claimed": claimed}
        bounded = epsilon != float("inf")
        made.append(base | {"epsilon": epsilon, "reason": f"{ANSWER}; dearest of 2 ledgers" if bounded else ""})
        made.append(base | {"epsilon": 100 * epsilon, "reason": ""})
        made.append(base | {"event": "sum", "epsilon": 9e9, "reason": ""})
    return pd.DataFrame(made)


def audit(*results, kind="bnn_regression"):
    return pd.DataFrame([{"kind": kind, "check": f"check {n}", "result": r} for n, r in enumerate(results)])


@pytest.mark.parametrize(
    ("adapters", "of", "checks", "status"),
    [
        ([PRIVATE], ledger(("1.0", 0.99)), audit("passed"), "Private: add/remove, audited"),
        ([PRIVATE], ledger(("1.0", 1 + 1e-12)), audit("passed"), "Private: add/remove, audited"),
        ([PRIVATE], NONE, None, "Private: add/remove, not audited"),
        ([PRIVATE], ledger(("", 5.0)), audit("passed", "leak"), "Private: add/remove, audited"),
        ([PRIVATE], NONE, audit("passed", "failed"), "Private: add/remove, audit failed (check 1)"),
        (
            [PRIVATE, OTHER],
            NONE,
            audit("passed"),
            "Private: add/remove (network for regression), replace one (mixture of Gaussians), audited (not for "
            "mixture of Gaussians)",
        ),
        ([OPEN], NONE, None, "Not private"),
        ([OPEN], ledger(("", 3.0)), None, "Not private"),
        (
            [PRIVATE],
            ledger(("1.0", 10.99), ("1.0", 59.7), ("5.0", 77.6)),
            audit("passed"),
            "Claimed epsilon not shown: at most 11 to 60 for a claimed 1, 78 for a claimed 5",
        ),
        (
            [PRIVATE],
            ledger(("1.0", 0.9), ("1.0", 2.5), ("", 7.0)),
            audit("passed"),
            "Claimed epsilon not shown in 1 of 2 runs: at most 2.5 for a claimed 1",
        ),
        (
            [OPEN],
            ledger(("0.1", float("inf")), ("1.0", float("inf"))),
            None,
            "Claimed epsilon not shown: at most infinite for a claimed 0.1, 1",
        ),
    ],
)
def test_the_status_follows_from_ledger_and_audit(adapters, of, checks, status):
    assert privacy_status(adapters, of, checks, NONE) == status


def test_leaks_that_a_method_names_are_in_its_status():
    leaky = SimpleNamespace(**vars(PRIVATE) | {"leaks": ("ranges",)})
    assert privacy_status([leaky], NONE, audit("passed"), NONE).endswith(
        "audited; with leaks that its epsilon does not count"
    )
    unlike = SimpleNamespace(**vars(OPEN) | {"leaks": ("ranges",)})
    assert "leaks" not in privacy_status([PRIVATE, unlike], NONE, audit("passed"), NONE)


def claims(*rows):
    """Published claims of one method: (word, claimed, upper, lower, all steps)."""
    return pd.DataFrame(rows, columns=["word", "claimed", "upper", "lower", "all_steps"])


@pytest.mark.parametrize(
    ("published", "status"),
    [
        (claims(("holds", "1", "0.9", "0", "")), "Private: add/remove, not audited"),
        (
            claims(("not shown", "1", "43.7", "0", "0.251"), ("not shown", "5", "77.6", "0", "1.3")),
            "Claimed epsilon not shown: at least 0.251 to 1.3 if all steps are seen, at most 43.7 to 77.6, for a "
            "claimed 1, 5",
        ),
        (
            claims(("refuted", "1", "1.6", "1.587", ""), ("not shown", "2", "inf", "0", "")),
            "Claimed epsilon refuted: at least 1.58 for a claimed 1; claimed epsilon not shown: at most infinite, for "
            "a claimed 2",
        ),
        (claims(("no finite epsilon", "1", "inf", "0", "")), "No finite epsilon for a claimed 1"),
    ],
)
def test_published_claims_decide_by_their_words(published, status):
    """An epsilon of a run far above its claim changes nothing."""
    assert privacy_status([PRIVATE], NONE, None, published) == status


def test_no_status_contradicts_the_committed_claims(committed):
    """A word against a claim needs a row of privacy_claims.csv; a ledger above the claim is at most "not shown"."""
    statuses = method_pages._statuses(committed, contract.names())
    table = privacy_claims.read()
    words = table[table["ours"] != ""].groupby("ours")["word"].agg(set)
    total = committed.ledger[committed.ledger["event"] == TOTAL]
    sizes = pd.to_numeric(total["epsilon"]).where(total["reason"].str.contains(ANSWER), float("inf"))
    claimed = pd.to_numeric(total["epsilon_claimed"])
    least = sizes.groupby([total["method"], total["cell"]]).min()
    above = least > claimed.groupby([total["method"], total["cell"]]).first() * (1 + 1e-9)
    above = set(above[above].index.get_level_values("method"))
    for name, said in statuses.items():
        against = words.get(name, set()) & privacy_claims.AGAINST
        assert said.startswith((NO_EPSILON, REFUTED)) == bool(against), name
        if not against:
            open_ = privacy_claims.NOT_SHOWN in words[name] if name in words else name in above
            private = any(m.privacy for m in method_pages._adapters(name))
            start = NOT_SHOWN if open_ else "Private: " if private else "Not private"
            assert said.startswith(start), name
    assert {"dp_sep", "dp_vi_vinaroz", "dp_bayes_by_backprop"} <= {n for n, s in statuses.items() if NOT_SHOWN in s}
