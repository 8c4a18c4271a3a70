"""The numbers of the papers, read as strings (digits are data), with their annotations and their copies."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent / "published"
KEY = ["source", "table", "dataset", "method", "setting", "metric"]
CELLS, COPIES = 290, 66
SHA256 = {
    "numbers.csv": "6e5d0e7bda71f36951bf8a79d0543688fb69f0603ea0a34a5e9dbe2a2e3649b5",
    "annotations.csv": "a69acf08584f4665181f15bde26d027f0e2a0006d38d25aa0ee2debd20a662f1",
}

SOURCE_TITLES = {
    "vinaroz2023dpsep": "Vinaroz & Park 2023 (TMLR)",
    "vinaroz2021dpsep": "Vinaroz & Park 2021 (first version)",
    "geumlek2017rdp": "Geumlek, Song & Chaudhuri 2017",
    "park2017dpem": "Park, Foulds, Chaudhuri & Welling 2017",
    "alrawajfeh2024nadpvi_rebuttal": "Alrawajfeh, Jälkö & Honkela 2025 (rebuttal)",
    "dp_bayes_by_backprop2020note": "Note on DP Bayes by backprop (May 2020)",
}
#: column headings of the papers, by (method).
METHOD_TITLES = {
    "vi": "VI",
    "ep": "EP",
    "sep": "SEP",
    "clipped_sep": "SEP clipped",
    "dp_sep": "DP-SEP",
    "dp_vi": "DP-VI",
    "dp_em": "DP-EM",
    "point_estimate": "Point estimate",
    "na_dpvi_nuts": "NA-DPVI (NUTS)",
    "na_dpvi_laplace": "NA-DPVI (Laplace)",
    "dpvi_last_iterate": "Naive (last iterate)",
    "dpvim": "DPVIm",
    "bernstein_sheldon_2018": "Bernstein & Sheldon (2018)",
    "bernstein_sheldon_2019": "Bernstein & Sheldon (2019)",
}
METRIC_TITLES = {
    "rmse": "test RMSE (units of the target)",
    "test_log_likelihood": "test log-likelihood (nats)",
    "fnorm_mean": "F-norm of the means (data units)",
    "fnorm_covariance": "F-norm of the covariances (data units squared)",
    "fnorm_average": "average of the two F-norms",
    "fnorm": "F-norm",
    "kl_proxy": "KL divergence, proxy (nats)",
    "kl": "KL(truth, fit) of matched components (nats)",
    "squared_mean_error": "squared error of the means, as programmed",
    "squared_covariance_error": "squared error of the covariances, as programmed",
    "squared_average_error": "average of the two squared errors, as programmed",
    "program_kl_proxy": "KL proxy as programmed (nats)",
    "posterior_sd": "posterior standard deviation of a mean's coordinate",
    "heldout_nll": "minus log-likelihood of the held-out trials (nats)",
    "tarp_coverage_rmse": "RMSE of the TARP coverage (share)",
    "calibration_rmse": "RMSE of the calibration (share)",
    "label_error": "test rows in the wrong cluster (share)",
}
#: published columns that claim differential privacy.
PRIVATE = (
    *("dp_sep", "dp_vi", "dp_em", "na_dpvi_nuts", "na_dpvi_laplace", "dpvi_last_iterate", "dpvim"),
    *("bernstein_sheldon_2018", "bernstein_sheldon_2019"),
)


@cache
def _load(folder: Path) -> pd.DataFrame:
    numbers = pd.read_csv(folder / "numbers.csv", dtype=str, keep_default_na=False)
    notes = pd.read_csv(folder / "annotations.csv", dtype=str, keep_default_na=False)
    for name, frame in (("numbers.csv", numbers), ("annotations.csv", notes)):
        if frame.duplicated(KEY).any():
            raise ValueError(
                f"{folder / name}: two rows with the key {frame[frame.duplicated(KEY)].iloc[0][KEY].tolist()}"
            )
    both = numbers.merge(notes, on=KEY, how="outer", indicator=True, validate="one_to_one")
    if (both["_merge"] != "both").any():
        raise ValueError(
            f"{folder}: numbers.csv and annotations.csv differ in their keys; each number has one annotation"
        )
    both = numbers.merge(notes, on=KEY, how="left", validate="one_to_one")
    both["n_published"] = both["n_published"].astype(int)
    both["digits"] = both["digits"].astype(int)
    return both


def load(folder: Path = HERE) -> pd.DataFrame:
    """All published cells in the order of the file.

    Columns: the six of ``KEY``, mean, std, n_runs (strings, as printed), digits, n_published (int), std_kind,
    same_as, note. Raises ValueError where the two files do not belong together.
    """
    return _load(Path(folder)).copy()


def original_of(row, published: pd.DataFrame):
    """The row that a copy repeats (``same_as`` = "source:table"), or the row itself. Raises ValueError if lost."""
    if not row["same_as"]:
        return row
    source, table = row["same_as"].split(":")
    keep = (published["source"] == source) & (published["table"] == table)
    for column in ("dataset", "method", "setting", "metric"):
        keep &= published[column] == row[column]
    if keep.sum() != 1:
        raise ValueError(
            f"annotations.csv: {[row[k] for k in KEY]} says same_as {row['same_as']}, which has no such cell"
        )
    return published[keep].iloc[0]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def dataset_sizes(folder: Path = HERE) -> pd.DataFrame:
    """Published sizes of the data sets: source, table, dataset, n, d (strings)."""
    return pd.read_csv(folder / "dataset_sizes.csv", dtype=str, keep_default_na=False)
