"""Claims of noise-aware DPVI, from the tables of its authors' reply to the reviews."""

from functools import partial

from reports.claims import Better, Claim, NotTestable, Within

SOURCE = "alrawajfeh2024nadpvi_rebuttal"
exponential = partial(Claim, experiment="nadpvi_exponential", source=SOURCE)
linear = partial(Claim, experiment="nadpvi_linear", source=SOURCE)
adult = partial(Claim, experiment="nadpvi_adult", source=SOURCE)

CLAIMS = (
    exponential(
        id="nadpvi_beats_naive_families",
        place="section 2, table 1",
        quote="read off table 1",
        statement="NA-DPVI (NUTS) has a smaller error than Naive (last iterate) for each of the three families",
        test=Better("na_dpvi_nuts", "dpvi_last_iterate", tables=("1",)),
    ),
    exponential(
        id="nadpvi_matches_bs_families",
        place="section 2, table 1",
        quote="read off table 1",
        statement=(
            "the errors of NA-DPVI (NUTS) and Bernstein & Sheldon differ by no more than the margin, for each of the "
            "three families"
        ),
        test=Within("na_dpvi_nuts", "bernstein_sheldon_2018", tables=("1",)),
    ),
    exponential(
        id="nadpvi_beats_dpvim_families",
        place="section 2, table 1",
        quote="read off table 1",
        statement="NA-DPVI (NUTS) has a smaller error than DPVIm for each of the three families",
        test=Better("na_dpvi_nuts", "dpvim", tables=("1",)),
    ),
    linear(
        id="nadpvi_beats_naive_regression",
        place="section 3, table 2",
        quote="read off table 2",
        statement="NA-DPVI, by NUTS and by Laplace, has a smaller error than Naive (last iterate) at every epsilon",
        test=Better(("na_dpvi_nuts", "na_dpvi_laplace"), "dpvi_last_iterate", tables=("2",), same=("epsilon",)),
    ),
    linear(
        id="nadpvi_beats_bs_regression",
        place="section 3, table 2",
        quote="read off table 2",
        statement="NA-DPVI, by NUTS and by Laplace, has a smaller error than Bernstein & Sheldon at every epsilon",
        test=NotTestable(
            why=(
                "the row of Bernstein & Sheldon in the table is that of a run whose coverage does not depend on "
                "the level, so the sentence is about that run and not about the method"
            )
        ),
    ),
    linear(
        id="nadpvi_nuts_beats_laplace_regression",
        place="section 3, table 2",
        quote="read off table 2",
        statement="NA-DPVI has a smaller error by NUTS than by Laplace at every epsilon",
        test=Better("na_dpvi_nuts", "na_dpvi_laplace", tables=("2",), same=("epsilon",)),
    ),
    adult(
        id="nadpvi_best_on_adult",
        place="section 4, table 3",
        quote="read off table 3",
        statement=(
            "NA-DPVI (NUTS) has a smaller error than NA-DPVI (Laplace), Naive (last iterate) and DPVIm at every epsilon"
        ),
        test=Better(
            "na_dpvi_nuts", ("na_dpvi_laplace", "dpvi_last_iterate", "dpvim"), tables=("3",), same=("epsilon",)
        ),
    ),
    adult(
        id="nadpvi_laplace_beats_naive_adult",
        place="section 4, table 3",
        quote="read off table 3",
        statement="NA-DPVI (Laplace) has a smaller error than Naive (last iterate) at every epsilon",
        test=Better("na_dpvi_laplace", "dpvi_last_iterate", tables=("3",), same=("epsilon",)),
    ),
    adult(
        id="nadpvi_dpvim_beats_naive_adult",
        place="section 4, table 3",
        quote="read off table 3",
        statement="DPVIm has a smaller error than Naive (last iterate) at every epsilon",
        test=Better("dpvim", "dpvi_last_iterate", tables=("3",), same=("epsilon",)),
    ),
)
