"""The committed claims of the papers."""

import re

import pandas as pd

from reports import claims, reference
from tests.reports.claims.made_up import NO_FINDINGS


def test_every_committed_claim_is_readable_and_judged(config, scores):
    rows = claims.load()
    assert len(rows) > 30
    frame = claims.evaluate(config, scores, findings=NO_FINDINGS)
    mine = [c for source in config["sources"] for c in rows if c.source == source]  # in the experiment's order
    assert list(frame["id"]) == [c.id for c in mine if c.experiment == config["experiment"]]
    assert set(frame["verdict"]) <= set(claims.VERDICTS)
    assert (frame["figure"] != "").all()
    assert {"vinaroz2023dpsep", "vinaroz2021dpsep"} == set(frame["source"])


#: words of a sentence that narrow what it speaks of; without them a claim is tested on all.
NARROWER = {"most": r"\bin most\b", "often": r"\boften\b"}


def test_every_committed_quantifier_stands_in_the_source():
    for row in claims.load():
        quantifier = getattr(row.test, "quantifier", None) or "all"
        said = [q for q, words in NARROWER.items() if re.search(words, row.quote)]
        assert [quantifier] == (said or ["all"]), row.id


def test_every_committed_claim_is_quoted_or_read_off():
    rows = claims.load()
    for row in rows:
        quote, quoted = row.quote, not row.quote.startswith("read off")
        assert not quoted or len(quote.split()) >= 5 or row.id.endswith("dp_sep_comparable_to_sep"), row.id
        # no sentence of these sources speaks of what the suite compares: their tables and figures show it
        assert not (quoted and row.id.startswith(("nadpvi_", "rdp_glm_"))), row.id
        if not quoted:
            assert all(k in row.place for k in re.findall(r"(?:table|figure) \w+", quote)), row.id


def test_claims_of_a_size_have_a_margin():
    """A sentence that two methods are alike, or that one is poor, is tested with a margin, and no other sentence is."""
    frame = pd.read_csv(reference.FOLDER / "claims.csv", dtype=str, keep_default_na=False)
    margins = frame.set_index("id")["margin"]
    alike = re.compile(r"comparable|not the case|differ by no more|nowhere|well separated|is poor")
    for row in claims.load():
        if isinstance(row.test, claims.NotTestable | claims.HoldsIn):
            continue
        says = alike.search(row.quote) or (row.quote.startswith("read off") and alike.search(row.statement))
        assert bool(says) == (margins[row.id] != "none"), row.id


def test_proofs_and_repetitions_of_the_committed_claims():
    rows = {r.id: r for r in claims.load()}
    proved = {i for i, r in rows.items() if r.proof}
    assert proved >= {
        *("rdp_asymptotes", "rdp_crossing", "rdp_diffused_to_prior", "v1_kl_uncertainty"),
        *("bbb_advanced_composition", "bbb_post_processing", "bbb_epochs_only"),
    }
    for row in rows.values():
        if row.same_as:
            first = rows[row.same_as]
            assert row.experiment == first.experiment
            assert type(row.test) is type(first.test)


def test_the_committed_verdicts():
    """Of the committed table: its words, its counts, and that a repetition has the verdict of what it repeats."""
    frame = pd.read_csv(reference.FOLDER / "claims.csv", dtype=str, keep_default_na=False)
    assert list(frame["id"].sort_values()) == sorted(r.id for r in claims.load())
    assert set(frame["verdict"]) <= set(claims.VERDICTS)
    verdict = frame.set_index("id")["verdict"]
    copies = frame[frame["same_as"] != ""]
    assert len(claims.distinct(frame)) == len(frame) - len(copies)
    for row in copies.itertuples():
        assert row.verdict == verdict[row.same_as], row.id
    proofs = {r.id for r in claims.load() if r.proof}
    assert set(frame.loc[frame["verdict"] == "by proof", "id"]) == proofs
    assert verdict["nadpvi_beats_bs_regression"] == "not testable here"
    margins = frame.set_index("id")["margin"]
    assert margins["dp_sep_comparable_to_sep"] == "10 % of the error; ln 1.1 nats"
    assert margins["nadpvi_matches_bs_families"] == "25 % of the value"
