"""The title of this finding, as a function of the committed numbers."""

import numpy as np
import pandas as pd


def published_columns_exceed_one(ledger: pd.DataFrame) -> bool:
    """The authors' codes have no finite epsilon, DP-SEP as printed more than 1; the corrected methods keep 1."""
    spent = ledger.groupby("method")["epsilon"]
    least, most = spent.min(), spent.max()
    return bool(
        np.isposinf(least[["dp_sep_authors", "dp_vi_vinaroz_authors"]]).all()
        and least["dp_sep"] > 1
        and most[["dp_sep_corrected", "dp_vi_vinaroz_corrected"]].le(1).all()
        and least[["dp_sep_corrected", "dp_vi_vinaroz_corrected"]].gt(0).all()
    )
