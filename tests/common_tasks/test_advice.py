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


OWN = About(limits="These are my rows.")


def test_a_table_of_ones_own_has_one_answer_and_what_is_not_worse():
    """The second lies a tenth of the spread between splits behind the first, the third far behind."""
    levels = {"na_dpvi": -1.3, "dpvim": -1.3005, "dp_sgd": -1.7}
    made = block(family(only(levels, sets=["wine"]), ["wine"]), OWN)
    take = made.sentences[0]
    assert take.startswith(("At epsilon = 1, take NA-DPVI: its score is", "At epsilon = 1, take DPVIm: its score is"))
    other = "DPVIm" if "take NA-DPVI" in take else "NA-DPVI"
    assert take.endswith(f"Not shown to be worse than it is {other} (paired over the splits, level 95 % each).")
    assert take.count("take ") == 1
    assert "best" not in made.sentences[1]


def test_a_table_of_ones_own_shows_both_ends_of_the_scale_as_rows():
    made = block(family(only(LEVELS, sets=["wine"]), ["wine"]), OWN)
    at = made.table.set_index("method")["score"]
    assert list(at.index[-2:]) == ["Training mean (constant prediction)", "Exact posterior (without privacy)"]
    assert (at.iloc[-2], at.iloc[-1]) == ("0", "1")
    assert "Dotted lines are Training mean and Exact posterior without privacy." in made.caption


def far_off(level: float) -> pd.DataFrame:
    """Scores of a table on which the exact posterior is no better than the mean, and private fits have ``level``."""
    frame = only({"na_dpvi": level, "dpvim": level - 1}, sets=["wine"])
    here = frame["method"] == "exact_posterior"
    frame.loc[here, "value"] = [repr(float(v) - 1.0) for v in frame.loc[here, "value"]]
    return frame


def test_scores_that_are_far_off_give_bounds_and_no_empty_chart():
    made = block(family(far_off(-7e15), ["wine"]), OWN)
    assert made.sentences[0].startswith("At epsilon = 1, take none: even without privacy, Exact posterior is not")
    assert made.figure == ""
    assert made.caption.startswith("There is no chart, because every score is far below Training mean")
    shown = made.table.to_string() + " ".join(made.sentences)
    assert "below -1,000" in shown
    assert "e+" not in shown
    assert "000000" not in shown
    near = block(family(far_off(-2.5), ["wine"]), OWN)
    assert near.figure.lstrip().startswith("<?xml")


def test_no_method_is_taken_where_none_is_better_than_the_baseline():
    made = block(family(only({"na_dpvi": -2.5, "dpvim": -3.0}, sets=["wine"]), ["wine"]), OWN)
    assert made.sentences[0] == (
        "At epsilon = 1, take none: on this table, no private method is significantly better than the trivial baseline "
        "by the test log-likelihood."
    )


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
    assert "one row's values against an empty row (add/remove) and for DPVIm one replaced row (replace one)." in said


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
