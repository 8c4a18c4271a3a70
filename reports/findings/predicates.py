"""The title of this finding, as a function of the committed numbers."""

import pandas as pd


def code_has_none_and_printed_is_not_refuted(claims: pd.DataFrame, corrected: pd.DataFrame) -> bool:
    """The authors' DP-SEP has no finite epsilon on any data set; as printed, one claim holds, DP-VI's on Wine.

    No claim as printed is refuted. For all steps, DP-VI's lower bound is above 1 on four data sets, and DP-SEP's on
    none. The corrected methods keep 1.
    """
    printed = claims[claims["reading"] == "printed"].set_index(["method", "dataset"])
    code = claims[claims["reading"] == "authors"]
    above = printed["all_steps"] > 1
    return bool(
        len(code) == len(printed) == 10
        and (code.loc[code["method"] == "dp_sep", "word"] == "no finite epsilon").all()
        and printed.loc[("dp_vi", "wine"), "word"] == "holds"
        and (printed["word"] == "not shown").sum() == 9
        and above["dp_vi"].sum() == 4
        and not above["dp_sep"].any()
        and corrected["epsilon"].le(1).all()
    )
