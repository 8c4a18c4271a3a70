"""The three paragraphs of a block: what to use, why, and the limits."""

from __future__ import annotations

import numpy as np

from common_tasks import best
from common_tasks import comparisons as compare
from common_tasks.advice.answer import Answer
from common_tasks.advice.table import LOOKED_AT, listed
from evaluation.metrics import METRICS

CHOOSING = "To choose a method by scores on private rows is a release of its own, which no epsilon here counts."


def take(found: Answer) -> str:
    """The winner at each epsilon, and whether it is still first if any one table is left out."""
    fitted = found.at(found.main)
    if fitted.winner.why:
        if found.own:
            return " ".join(_on_this_table(found, e) for e in found.epsilons)
        return f"No general advice: {fitted.winner.why}."
    order = [found.main, *(e for e in found.epsilons if e != found.main)]
    out, unstable = [], {}
    for epsilon in order:
        won = found.at(epsilon).winner
        if won.why:
            out.append(f"At epsilon = {epsilon} there is no advice: {won.why}.")
            continue
        names = listed([found.name(m) for m in won.methods], "or")
        first = "it is" if len(won.methods) == 1 else "the first of them is"
        out.append(
            f"At epsilon = {epsilon}, take {names}: {first} best on the next table with probability "
            f"{won.probability:.2f}, and its expected regret is {won.regret:.2f}."
        )
        for dataset, methods in won.without.items():
            unstable.setdefault((epsilon, methods), []).append(found.set_name(dataset))
    stable = [e for e in order if found.at(e).winner.stable]
    if stable:
        what = "This answer survives" if len(order) == 1 else f"The answer at epsilon = {listed(stable)} survives"
        out.append(f"{what} leaving out any one {found.sets}.")
    if unstable:
        shaky = [e for e in order if found.at(e).winner.without]
        out.append(f"The answer at epsilon = {listed(shaky)} changes for at least one {found.sets} that is left out.")
    for (epsilon, methods), sets in unstable.items():
        now, verb = listed([found.name(m) for m in methods]), "is" if len(methods) == 1 else "are"
        out.append(f"At epsilon = {epsilon}, without {listed(sets, 'or')}, {now} {verb} first instead.")
    return " ".join(out)


def answers(found: Answer) -> list[list[str]]:
    """:func:`take` as rows, if there is a winner: epsilon, methods, probability, regret, methods without a table."""
    out = []
    for epsilon in found.epsilons:
        won = found.at(epsilon).winner
        names = {m: found.name(m) for m in won.every}
        instead = [f"without {found.set_name(d)}: {listed([names[m] for m in ms])}" for d, ms in won.without.items()]
        numbers = [f"{won.probability:.2f}", f"{won.regret:.2f}", "; ".join(instead)]
        out.append([epsilon, *([listed([names[m] for m in won.methods], "or"), *numbers] if won.methods else
                               [f"no advice: {won.why}", "", "", ""])])  # fmt: skip
    return out if found.at(found.main).winner.methods else []


def taken(found: Answer, epsilon: str) -> str:
    """The method to use: the winner, or for a user's table the one with the highest score. "" if there is none.

    A user's table has none if no method is significantly better than the trivial baseline.
    """
    winner = found.at(epsilon).winner
    if winner.methods or not found.own:
        return winner.methods[0] if winner.methods else ""
    at = _scores_on_it(found, epsilon)
    if not at or max(y - 1.96 * error for y, error in at.values()) <= 0:
        return ""
    return max(at, key=lambda m: at[m][0])


def _scores_on_it(found: Answer, epsilon: str) -> dict[str, tuple[float, float]]:
    """Method -> score and standard error on a user's table, empty without a scale."""
    scores = found.at(epsilon).scores
    if not scores.scaled:
        return {}
    at = {m: scores.on(m, scores.sets[0]) for m in scores.methods}
    return {m: (y, error) for m, (y, error) in at.items() if np.isfinite(y)}


def _on_this_table(found: Answer, epsilon: str) -> str:
    """For a user's table: the method with the highest score on it, and those that are not significantly worse."""
    scores, family = found.at(epsilon).scores, found.family
    dataset = scores.sets[0]
    if not scores.scaled:
        why = best.ends(family, dataset, found.about)[2].partition(" (")[0]
        return f"At epsilon = {epsilon}, take none: even without privacy, {why} on this table."
    first, at = taken(found, epsilon), _scores_on_it(found, epsilon)
    if not first:
        return (
            f"At epsilon = {epsilon}, take none: on this table, no private method is significantly better than the "
            f"trivial baseline by the {METRICS[best.metric_of(family)].title}."
        )
    metric = best.metric_of(family)
    near = []
    for method in sorted(at, key=lambda m: -at[m][0]):
        arms = [scores.arms[m] for m in (first, method)]
        if method == first or any((dataset, a, metric) not in family.values for a in arms):
            continue
        d = compare.gap(family, dataset, metric, *arms)
        if d is None or not d.significant:
            near.append(found.name(method))
    out = (
        f"At epsilon = {epsilon}, take {found.name(first)}: its score is the highest on this table, {at[first][0]:.2f}."
    )
    if near:
        verb = "is" if len(near) == 1 else "are"
        out += f" Not shown to be worse than it {verb} {listed(near)} (paired over the splits, level 95 % each)."
    return out


def because(found: Answer) -> str:
    """The meaning of the numbers, and the results of the rule on tables that it had not seen."""
    fitted = found.at(found.main)
    out = [f"Scores are the {found.words}."]
    if fitted.scores.scaled:
        out.append("A score below 0 counts as 0.")
    if fitted.winner.why:
        out.append("The number after ± is half a 95 % interval over the splits.")
        return " ".join(out if found.own else [*out, "No method is called best."])
    rated, count = int((fitted.frame["without"] == "").sum()), len(fitted.scores.tables)
    unrated = len(fitted.scores.methods) - rated
    out.append(
        f"A method is best on a table if no other score is more than {best.TIE} higher. A hierarchical model of the "
        f"{rated} methods with a score and the {count} tables gives the probability of this on the next table."
    )
    if unrated:
        out.append(f"The table also lists {unrated} method{'s' if unrated > 1 else ''} without a score.")
    out.append("The expected regret is the mean distance to the highest score there, on the same scale.")
    regrets = realised(fitted)
    if regrets:
        mean = sum(regrets.values()) / len(regrets)
        out.append(
            f"Each {found.sets} was also left out in turn. At epsilon = {found.main}, the method that was first "
            f"without it had a mean regret of {mean:.2f} on it."
        )
    return " ".join(out)


def realised(fitted: best.Fitted) -> dict[str, float]:
    """Data set -> regret there of the method that is first without it, if it has a score there."""
    out = {}
    for without, rows in fitted.frame.groupby("without", sort=False):
        there = rows.set_index("method")["there"]
        first = rows.loc[rows["probability"].idxmax(), "method"]
        if without and np.isfinite(there[first]):
            out[without] = float(there.max() - there[first])
    return out


def limits(found: Answer) -> str:
    """The limits of the scores, and which scores are missing."""
    family, scores = found.family, found.at(found.main).scores
    sets = [found.set_name(d) for d in scores.named]
    many = f"These are {len(sets)} tables" if len(sets) > 1 else "This is one table"
    out = [found.about.limits or f"{many} ({listed(sets)}) and one model; other rows may give another order."]
    left = [d for d in family.datasets if d not in scores.sets]
    if left:
        ends = (best.ends(family, d, found.about)[2].partition(" (")[0] for d in left)
        why = dict.fromkeys(text or "another table has the same rows" for text in ends)
        verb = "is" if len(left) == 1 else "are"
        out.append(f"Left out {verb} {listed([found.set_name(d) for d in left])}, because {' or '.join(why)}.")
    if found.looked_at and found.at(found.main).winner.why:
        out.append(f"{LOOKED_AT} marks a table that was looked at while the method was designed.")
    elif found.looked_at:
        names = [f"{found.name(m)} on {found.set_name(d)}" for m, d in found.looked_at]
        out.append(f"Not counted, because the table was looked at while the method was designed: {listed(names)}.")
    missing = [m for m in scores.methods if not np.isfinite(scores.y[scores.methods.index(m)]).any()]
    if missing:
        out.append(f"Without a score: {listed([found.name(m) for m in missing])}.")
    some = np.isnan(scores.y).any(axis=1)
    part = [found.name(m) for i, m in enumerate(scores.methods) if m not in missing and some[i]]
    if part:
        out.append(f"With a score on some tables only: {listed(part)}.")
    unequal = [found.set_name(d) for d in scores.named if len({n for n in _splits(scores, d) if n}) > 1]
    if unequal:
        weighs = "" if found.at(found.main).winner.why else " The model weighs a score by its standard error."
        fewer = [found.name(m) for i, m in enumerate(scores.methods) if any(_fewer(scores, i))]
        out.append(f"Fewer splits than other methods, on {listed(unequal, 'or')}: {listed(fewer)}.{weighs}")
    if "tuned" in scores.settings.values():
        out.append(
            found.about.tuning
            or f"Settings are the defaults, or those tuned on synthetic rows {_tuned_on(found)}if their mean score is "
            "no lower; to take the better of two flatters every method a little."
        )
    elif found.about.tuning:
        out.append(found.about.tuning)
    if any(d in family.conditional for d in scores.sets):
        out.append(
            "On tables with *, the guarantee takes ranges as public that are the minimum and maximum of the table."
        )
    return " ".join([*out, CHOOSING])


def _tuned_on(found: Answer) -> str:
    """The number of tables with tuned settings, unless all have them."""
    family, scores = found.family, found.at(found.main).scores
    has = [d for d in scores.named if any(a.tuned and not family.mark(d, a) and (d, a) in family.status
                                          for a in scores.arms.values())]  # fmt: skip
    return f"(on {len(has)} of {len(scores.named)} tables) " if len(has) < len(scores.named) else ""


def _fewer(scores: best.Scores, i: int) -> list[bool]:
    """Per table, whether this method has a score on fewer splits than another."""
    return [0 < n < most for n, most in zip(scores.n[i], scores.n.max(axis=0), strict=True)]


def _splits(scores: best.Scores, dataset: str) -> list[int]:
    """Number of splits of each method on a data set."""
    here = [k for k, d in enumerate(scores.sets) if d == dataset]
    return [int(scores.n[i, here].max()) for i in range(len(scores.methods))]
