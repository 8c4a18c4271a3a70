"""The block of advice, on made-up scores whose answer is known. About 12 CPU seconds."""

from __future__ import annotations

import pandas as pd
import pytest

from common_tasks import advice, scores
from common_tasks.advice import About, block, blocks
from common_tasks.advice.answer import NEXT
from evaluation.summary import COLUMNS
from reports import style
from tests.common_tasks import made_up

SETS = ["wine", "power", "naval", "kin8nm", "protein"]


def only(levels: dict[str, float], n: int = 10, sets: list[str] = SETS) -> pd.DataFrame:
    """Scores at epsilon = 1 of these private methods (their log-likelihood), with both ends of the scale: -2 and -1."""
    out = []
    for d in sets:
        for method, level in {"predict_mean": -2.0, "exact_posterior": -1.0}.items():
            out += made_up.rows(made_up.CONFIG, d, method, "", {"test_log_likelihood": level}, n)
        for method, level in levels.items():
            values = {"test_log_likelihood": level, "coverage_90": 0.88}
            out += made_up.rows(made_up.CONFIG, d, method, "epsilon=1", values, n)
    return pd.DataFrame(out, columns=COLUMNS)


def family(frame: pd.DataFrame, sets: list[str] = SETS) -> scores.Family:
    return scores.read(made_up.CONFIG | {"datasets": sets}, frame)


LEVELS = {"na_dpvi": -1.2, "dpvim": -1.5, "dp_sgd": -1.7}


@pytest.fixture(scope="module")
def three():
    return block(family(only(LEVELS)))


def test_three_paragraphs_a_table_and_a_figure(three):
    take, because, limits = three.sentences
    assert take.startswith("At epsilon = 1, take NA-DPVI: it is best on the next table with probability 1.00")
    assert take.endswith("This answer survives leaving out any one table.")
    assert "A hierarchical model of the 3 methods with a score and the 5 tables" in because
    assert "These are 5 tables (" in limits
    assert "To choose a method by scores on private rows is a release" in limits
    assert list(three.table["method"]) == ["NA-DPVI", "DPVIm", "DP-SGD (baseline)"]
    assert three.figure.lstrip().startswith("<?xml")
    assert "nan" not in " ".join(three.sentences) + three.table.to_string()


def test_the_table_shows_coverage_and_who_counts_the_noise(three):
    at = three.table.set_index("method")
    assert at.loc["NA-DPVI", "90 % intervals cover"].startswith(("87.", "88."))
    assert dict(at["intervals count the privacy noise"]) == {"NA-DPVI": "yes", "DPVIm": "no", "DP-SGD (baseline)": "no"}
    assert at.loc["NA-DPVI", "median score (range)"].startswith("0.")


def test_the_data_hold_every_score_and_the_next_table(three):
    at = three.data.set_index(["method", "dataset"])
    for method, level in LEVELS.items():
        assert at.loc[(method, "wine"), "score"] == pytest.approx(level + 2, abs=0.02)
        shown = float(three.table["probability of being best on the next table"][list(LEVELS).index(method)])
        assert at.loc[(method, NEXT), "probability"] == pytest.approx(shown, abs=0.005)
    assert len(three.data) == 3 * 6


def test_methods_that_tie_are_named_together():
    frame = only({"na_dpvi": -1.3, "dpvim": -1.8})
    twin = frame[frame["method"] == "na_dpvi"].assign(method="dpvi", cell="another")
    made = block(family(pd.concat([frame, twin], ignore_index=True)))
    assert " or " in made.sentences[0].partition(":")[0]
    assert made.winners["1"].methods in (("na_dpvi", "dpvi"), ("dpvi", "na_dpvi"))
    assert "the first of them is best" in made.sentences[0]


def test_fewer_tables_give_scores_and_no_winner():
    made = block(family(only(LEVELS, sets=SETS[:2]), SETS[:2]))
    assert made.sentences[0] == "No general advice: 2 tables are too few, at least 5 are needed."
    assert made.winners["1"].methods == ()
    assert list(made.table["method"]) == ["DP-SGD (baseline)", "DPVIm", "NA-DPVI"]  # by name, not by score
    assert made.table["Wine"].str.contains("±").all()
    assert set(made.data["dataset"]) == {"wine", "power"}


def test_a_table_of_ones_own_says_who_is_best_on_it():
    """The second is a hundredth of the scale behind the first at most."""
    levels = {"na_dpvi": -1.3, "dpvim": -1.302, "dp_sgd": -1.7}
    made = block(family(only(levels, sets=["wine"]), ["wine"]), About(limits="These are my rows."))
    assert made.sentences[0].startswith(
        "No general advice: 1 table is too few, at least 5 are needed. On this table, at eps"
    )
    assert "NA-DPVI and DPVIm are best, with a score of 0." in made.sentences[0] or (
        "DPVIm and NA-DPVI are best, with a score of 0." in made.sentences[0]
    )
    assert "no other score is more than 0.01 higher" in made.sentences[1]


def test_without_a_scale_scores_are_in_their_own_unit():
    """The exact posterior is no better than the mean."""
    frame = only(LEVELS)
    here = frame["method"] == "exact_posterior"
    frame.loc[here, "value"] = [repr(float(v) - 1.0) for v in frame.loc[here, "value"]]
    made = block(family(frame))
    assert made.sentences[0].startswith("No general advice: there is no common scale, because Exact posterior is not")
    assert "in nats" in made.sentences[1]
    assert made.data.set_index(["method", "dataset"]).loc[("dpvim", "wine"), "score"] == pytest.approx(-1.5, abs=0.02)


def test_one_method_and_one_split_give_no_winner():
    alone = block(family(only({"na_dpvi": -1.3})))
    assert alone.sentences[0] == "No general advice: fewer than two methods have a score."
    made = block(family(only(LEVELS, n=1)))
    assert "No general advice" in made.sentences[0]  # the ends of a scale need two splits
    assert "nan" not in "".join(made.sentences) + made.table.to_string()


def test_methods_without_a_score_stand_in_the_table_with_the_reason():
    frame = only(LEVELS)
    for d in SETS:
        bad = made_up.bad(made_up.CONFIG, d, made_up.NOT_SUPPORTED, "epsilon=1", "not_supported", "needs epsilon 321")
        frame = pd.concat([frame, pd.DataFrame(bad)], ignore_index=True)
    made = block(family(frame))
    last = made.table.iloc[-1]
    assert (last["method"], last["median score (range)"]) == ("Posterior sample", "not supported")
    assert "Without a score: Posterior sample." in made.sentences[2]
    assert "of the 3 methods with a score" in made.sentences[1]
    assert "The table also lists 1 method without a score." in made.sentences[1]


def test_the_caption_has_the_budget_of_the_rows(three):
    assert three.budget.startswith(
        "The table is for epsilon = 1 and delta = 1e-05. Neighbouring tables differ by one row"
    )
    assert "A score above 1 is possible" in three.budget
    frame = only(LEVELS)
    mine = frame["method"] == "dpvim"
    frame.loc[mine, "relation"], frame.loc[mine, "delta"] = "replace_one", "1e-06"
    said = block(family(frame)).budget
    assert "delta = 1e-06 or 1e-05." in said
    assert "one row more or less (add/remove) and for DPVIm one replaced row (replace one)." in said


def test_a_method_on_some_tables_and_on_fewer_splits_is_named():
    frame = only(LEVELS)
    mine = frame["method"] == "dpvim"
    frame = frame[~(mine & (frame["dataset"] == "power")) & ~(mine & (frame["split"].astype(int) > 4))]
    made = block(family(frame))
    assert "With a score on some tables only: DPVIm." in made.sentences[2]
    fewer = made.sentences[2].partition("Fewer splits than other methods, on ")[2].partition(".")[0]
    assert fewer.endswith(": DPVIm")
    at = made.table.set_index("method")
    assert at.loc["DPVIm", "median score (range)"].endswith(", 4 of 5")
    assert at.loc["DPVIm", "splits"] == "5"


def test_rows_that_are_drawn_anew_are_tables_each():
    """Two shapes of five tables: ten tables of the model, and a shape is left out at a time."""
    shapes = ["linear", "curved"]
    frame = only(LEVELS, n=5, sets=SETS[:2])
    frame["dataset"] = frame["dataset"].map(dict(zip(SETS, shapes, strict=False)))
    about = About(fresh=True, reference="exact_posterior", limits="These are ten synthetic tables.", tuning="As is.")
    made = block(family(frame, shapes), about)
    assert made.winners["1"].tables == 10
    assert made.sentences[0].endswith("leaving out any one shape.")
    assert made.sentences[2].startswith("These are ten synthetic tables.")
    assert set(made.data["dataset"]) == {NEXT, *shapes}


def test_without_a_private_score_there_is_no_block():
    assert block(family(only({}))) is None
    assert blocks([family(only({}))]) == []


def captured(monkeypatch, found: scores.Family):
    """The figure, kept before it is closed, and the block."""
    kept = []

    def svg(drawn):
        renderer = drawn.canvas.get_renderer()
        drawn.draw(renderer)
        labels = [t for ax in drawn.axes for t in (*ax.get_yticklabels(), *ax.texts, ax.title) if t.get_text()]
        kept.append((drawn.bbox, [(t.get_text(), t.get_window_extent(renderer)) for t in labels]))
        return "<svg/>"

    monkeypatch.setattr(style, "svg", svg)
    made = block(found)
    return kept[0], made


@pytest.mark.parametrize("sets", [SETS, SETS[:2]])
def test_methods_are_rows_with_whole_names_inside_of_the_figure(monkeypatch, sets):
    names = ["sufficient_statistics_perturbation", "na_dpvi", "dp_vi_vinaroz_corrected", "adassp", "dpvim", "dp_sgd"]
    names += ["bernstein_sheldon_2019_corrected", "dpvi", "na_dpvi_laplace", "posterior_sampling_concentrated"]
    levels = {m: -1.05 - 0.1 * k for k, m in enumerate(names)}
    (whole, texts), made = captured(monkeypatch, family(only(levels, sets=sets), sets))
    shown = [text for text, _ in texts]
    assert all(name in shown for name in made.table["method"])
    assert all(box.x0 >= -1 and box.x1 <= whole.x1 + 1 for _, box in texts)


def test_committed_tasks_without_advice_say_so():
    from workflow import committed, papers

    (made,) = blocks(committed.read(papers.REFERENCE, "common_density"))
    assert made.sentences[0] == "No general advice: 3 tables are too few, at least 5 are needed."
    assert all(s.endswith(".") and "nan" not in s for s in made.sentences)


def test_a_reference_without_scores_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no scores of"):
        blocks(tmp_path)


def test_the_order_of_tasks_is_that_of_the_site():
    assert advice.ORDER[0] == "linear_regression"
