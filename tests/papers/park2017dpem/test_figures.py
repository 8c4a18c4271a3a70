"""DP-EM on Life Science."""

import pandas as pd

from evaluation.summary import COLUMNS
from papers.park2017dpem import figures


def test_ways_of_composing_keep_their_look(tmp_path):
    rows = [
        dict.fromkeys(COLUMNS, "") | {"method": m, "setting": s, "split": str(k), "metric": "test_log_likelihood",
         "value": repr(-20.0 - k - 0.1 * i), "status": "ok"}
        for i, (m, s) in enumerate([("em", ""), ("dp_em_authors", "epsilon=1;GGG;zcdp"),
                                    ("dp_em_authors", "epsilon=1;LLG;zcdp"),
                                    ("dp_em_corrected", "epsilon=1")])
        for k in range(3)
    ]  # fmt: skip
    config = {"experiment": "dpem_life_science"}
    drawn = figures.life_science(tmp_path, config, pd.DataFrame(rows, columns=COLUMNS))
    data = pd.read_csv(tmp_path / f"{drawn.name}.csv")
    assert set(data["series"]) == {"zcdp", "DP-EM (one joint release)", "em"}
    assert set(data["panel"]) == {"GGG", "LLG"}
