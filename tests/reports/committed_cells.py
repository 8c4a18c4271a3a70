"""Published numbers beside our committed runs, for the tests of the verdict rule."""

import numpy as np

from reports import published
from reports.reference import FOLDER
from reports.verdicts import BATCH, answers_of, ours_of
from workflow import committed
from workflow.experiments import load as load_config
from workflow.papers import experiments
from workflow.published import in_scope


def committed_cells():
    """(reading, our scores or data sets' fractions, published row, metric) of every headline cell with a score.

    Copied cells are left out. Fractions are those of the data sets of a coverage error.
    """
    numbers = published.load()
    out = []
    for name in committed.experiments(FOLDER):
        config = load_config(experiments()[name])
        if not config["answers"]:
            continue
        scores = committed.read(FOLDER, name)
        scores = scores[scores["status"] == "ok"]
        runs = {
            key: group.to_numpy(dtype=np.float64)
            for key, group in scores.groupby(["dataset", "protocol", "method", "setting", "metric"])["value"]
        }
        for (source, table), group in numbers.groupby(["source", "table"], sort=False):
            if not in_scope(config, source, table, set(group["dataset"])):
                continue
            for cell in group[group["same_as"] == ""].to_dict("records"):
                for answer in answers_of(config, cell, numbers):
                    dataset, metric = ours_of(cell, answer)
                    key = (dataset, answer["protocol"], answer["method"], answer["label"])
                    found = runs.get((*key, BATCH[metric][1] if metric in BATCH else metric))
                    if answer["headline"] and found is not None and len(found) >= 2:
                        out.append((answer["reading"], found, cell, metric))
    return out
