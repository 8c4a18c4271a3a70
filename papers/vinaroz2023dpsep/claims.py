"""Claims of DP-SEP (Vinaroz & Park, TMLR 2023), and of its first version."""

from functools import partial

from papers.vinaroz2023dpsep import claims_2021
from papers.vinaroz2023dpsep.claim_tests import Closer, FailsLess, Larger, Spreads, Worsens
from reports.claims import Better, Claim, HoldsIn, Method, NotTestable, NotWorse, own

SOURCE = "vinaroz2023dpsep"
uci = partial(Claim, experiment="dpsep_uci", source=SOURCE)
mixture = partial(Claim, experiment="dpsep_mixture", source=SOURCE)

CLAIMS = (
    uci(
        id="clipping_improves_sep",
        place="section 3.3, Clipping as a form of regularization",
        quote=(
            "the clipping procedure to the natural parameters itself improves the performance of SEP, as "
            "shown in our experiments"
        ),
        statement="SEP clipped has the better RMSE and test log-likelihood on every data set",
        test=Better("clipped_sep", "sep", tables=("3", "4"), quantifier="all"),
    ),
    uci(
        id="sep_stabler_than_ep",
        place="section 3.3, Clipping as a form of regularization",
        quote="SEP, on the other hand, seems to be superior to EP in terms of numerical stability",
        statement="SEP loses fewer splits than EP",
        test=FailsLess("sep", "ep", tables=("3",)),
    ),
    uci(
        id="clipped_stabler_than_sep",
        place="section 3.3, Clipping as a form of regularization",
        quote=(
            "using clipping to SEP with a well-chosen clipping threshold further improves its stability, "
            "resulting in better convergence"
        ),
        statement="SEP clipped loses fewer splits than SEP",
        test=FailsLess("clipped_sep", "sep", tables=("3",)),
    ),
    uci(
        id="small_clip_loses_information",
        place="section 3.3, Choice of clipping norm",
        quote=(
            "the small clipping norm can drastically discard information encoded in the natural parameters "
            "after the clipping procedure. Setting ... to a large value results in a high noise variance"
        ),
        statement="not tested",
        test=NotTestable(
            why="the tables vary the clipping norm from 1 to 10 only and report no noise-free run to compare with"
        ),
    ),
    uci(
        id="sep_uncertainty_close_to_ep",
        place="section 1",
        quote="SEP is known to provide the posterior uncertainties very close to the ones in EP",
        statement="not tested",
        test=NotTestable(
            why="the sentence reports what another paper found, and no table here measures how close two posteriors are"
        ),
    ),
    mixture(
        id="mog_not_separated",
        place="section 6.1",
        quote="for a restrictive privacy regime ϵ=1 ... the clusters obtained by DP-SEP are not well separated",
        statement="at epsilon = 1 DP-SEP assigns more points to a wrong cluster than SEP, by more than the margin",
        test=Larger(Method("dp_sep", setting="epsilon=1"), "sep", tables=("1",), metric="label_error", by_margin=True),
    ),
    mixture(
        id="mog_approaches_nonprivate",
        place="section 6.1",
        quote=(
            "as we increase the privacy loss, the performance of DP-SEP gets closer to the non-private ones "
            "(SEP and EP) and the ground truth"
        ),
        statement="the F-norm falls with each step up in epsilon",
        test=Closer("dp_sep", tables=("1",), along="epsilon", metric="fnorm_average"),
    ),
    mixture(
        id="mog_higher_uncertainty",
        place="section 6.1",
        quote="The posterior from DP-SEP exhibits a higher uncertainty than the other non-private methods",
        statement="the posterior standard deviation of DP-SEP is larger than that of SEP and of EP at every epsilon",
        test=Larger("dp_sep", ("sep", own("ep")), tables=("1",), metric="posterior_sd"),
    ),
    mixture(
        id="mog_tradeoff_poor",
        place="section 6.1",
        quote="the privacy-accuracy trade-off measured in terms of F-norm is poor",
        statement="the F-norm of DP-SEP is larger than that of SEP at every epsilon, by more than the margin",
        test=Larger("dp_sep", "sep", tables=("1",), metric="fnorm_average", by_margin=True),
    ),
    uci(
        id="tradeoff_not_poor_large_data",
        place="section 6.1, last sentence",
        quote="However, in the next experiment with large datasets, this is not the case",
        statement=(
            "DP-SEP is not worse than SEP by more than the margin, in RMSE and test log-likelihood on every data set"
        ),
        test=NotWorse("dp_sep", "sep", tables=("3", "4")),
    ),
    uci(
        id="adf_poorer_than_ep",
        place="section 6.2",
        quote="It maintains a global approximation only and as a result performs poorer than EP",
        statement="EP has the better RMSE and test log-likelihood on every data set, compared with this suite's ADF",
        test=Better("ep", own("adf"), tables=("3", "4"), quantifier="all"),
    ),
    uci(
        id="ep_family_better_than_vi",
        place="section 6.2",
        quote="EP based methods (EP, SEP and SEP clipped) give better posterior estimates than those obtained by VI",
        statement="EP, SEP and SEP clipped each have the better RMSE and test log-likelihood on every data set",
        test=Better(("ep", "sep", "clipped_sep"), "vi", tables=("3", "4"), quantifier="all"),
    ),
    uci(
        id="dp_sep_better_than_dp_vi",
        place="section 6.2",
        quote="our algorithm gives better approximates than those from DP-VI",
        statement="DP-SEP has the better RMSE and test log-likelihood on every data set",
        test=Better("dp_sep", "dp_vi", tables=("3", "4"), quantifier="all"),
    ),
    uci(
        id="dp_sep_comparable_to_sep",
        place="section 6.2",
        quote="it is comparable to SEP",
        statement=(
            "DP-SEP is not worse than SEP by more than the margin, in RMSE and test log-likelihood on every data set"
        ),
        test=NotWorse("dp_sep", "sep", tables=("3", "4")),
    ),
    uci(
        id="dp_sep_better_on_kin8nm",
        place="section 6.2",
        quote="and even better in some cases as for Kin8nm",
        statement="DP-SEP has the better RMSE and test log-likelihood on Kin8nm",
        test=Better("dp_sep", "sep", tables=("3", "4"), datasets=("kin8nm",), quantifier="all"),
    ),
    uci(
        id="clipping_reduces_rmse",
        place="section 6.2",
        quote="has a positive effect on the original algorithm and reduces the test averaged RMSE in most cases",
        statement="SEP clipped has the lower RMSE on more than half of the data sets",
        test=Better("clipped_sep", "sep", tables=("3",), quantifier="most"),
    ),
    uci(
        id="clipping_regularises",
        place="section 6.2",
        quote=(
            "This seems to indicate that clipping acts as a regularizer (or a constraint) for the posterior "
            "to be well concentrated"
        ),
        statement="not tested",
        test=NotTestable(why="no score measures how concentrated a posterior is"),
    ),
    uci(
        id="dp_sep_outperforms_point_estimate",
        place="section 6.2, last sentence",
        quote="in most of the UCI datasets we considered, DP-SEP outperforms the point estimate",
        statement="DP-SEP has the lower RMSE on more than half of the data sets",
        test=Better("dp_sep", "point_estimate", tables=("5",), quantifier="most"),
    ),
    mixture(
        id="mog_higher_uncertainty_conclusion",
        place="section 7",
        quote=(
            "DP-SEP produces approximate posterior distributions that present higher uncertainty than those "
            "generated by non-private methods"
        ),
        statement="as for the sentence of section 6.1",
        test=Larger("dp_sep", ("sep", own("ep")), tables=("1",), metric="posterior_sd"),
        same_as="mog_higher_uncertainty",
    ),
    mixture(
        id="mog_relaxing_privacy_helps",
        place="section 7",
        quote="relaxing the privacy constraints improves the accuracy of the private posterior distributions",
        statement="as for the sentence of section 6.1",
        test=Closer("dp_sep", tables=("1",), along="epsilon", metric="fnorm_average"),
        same_as="mog_approaches_nonprivate",
    ),
    uci(
        id="dp_sep_often_better_than_sep",
        place="section 7",
        quote=(
            "The results show that DP-SEP often yields the posterior distributions that are better than those by SEP"
        ),
        statement=(
            "DP-SEP has the better score in at least half of the comparisons (RMSE and test log-likelihood, "
            "every data set)"
        ),
        test=Better("dp_sep", "sep", tables=("3", "4"), quantifier="often"),
    ),
    uci(
        id="sep_uncertainty_better_than_vi",
        place="section 7",
        quote=(
            "SEP provides better uncertainty estimates than variational inference, which was demonstrated in "
            "the experiments we presented"
        ),
        statement="SEP has the higher test log-likelihood on every data set",
        test=Better("sep", "vi", tables=("4",), quantifier="all"),
    ),
    uci(
        id="larger_clip_varies_more",
        place="appendix E",
        quote=(
            "increases, we are letting the natural parameters to retain more information but at the expense "
            "of adding higher variations due to the Gaussian noise addition"
        ),
        statement=(
            "the standard deviation over splits is larger at C = 10 than at C = 1, for RMSE and test "
            "log-likelihood on every data set"
        ),
        test=Spreads("dp_sep", along="clip", tables=("8", "9"), quantifier="all"),
    ),
    uci(
        id="larger_clip_is_worse_rmse",
        place="appendix E, table 8",
        quote="read off table 8",
        statement="as C increases the test RMSE of DP-SEP grows on every data set",
        test=Worsens("dp_sep", along="clip", tables=("8",), quantifier="all"),
    ),
    uci(
        id="larger_clip_is_worse_likelihood",
        place="appendix E, table 9",
        quote="read off table 9",
        statement="as C increases the test log-likelihood of DP-SEP falls on every data set",
        test=Worsens("dp_sep", along="clip", tables=("9",), quantifier="all"),
    ),
    mixture(
        id="kl_bound_holds",
        place="theorem 4.1, equation 10",
        quote="the expected KL divergence between SEP and DP-SEP posterior distributions is bounded by",
        statement="equation 10 is no smaller than the expected divergence wherever it means anything",
        test=HoldsIn(file="kl_bound_claims.csv", claim="bound_holds"),
        repair="rho is the smallest eigenvalue of the precision, which reads the data (not proved)",
    ),
    mixture(
        id="kl_scales",
        place="section 4",
        quote=(
            "the divergence between the private posterior and non-private posterior distributions scales with"
            " 1/N ... with fixed ϵ,δ"
        ),
        statement="the expected divergence falls at least as fast as 1/N",
        test=HoldsIn(file="kl_bound_claims.csv", claim="scales_1_over_n"),
        repair="rho is the smallest eigenvalue of the precision, which reads the data",
    ),
    mixture(
        id="kl_gap_closes",
        place="section 4 and appendix B.1",
        quote="In this case, the gap between the private and non-private posterior distributions becomes closed",
        statement="the expected divergence falls as N grows",
        test=HoldsIn(file="kl_bound_claims.csv", claim="gap_closes"),
        repair="rho is the smallest eigenvalue of the precision, which reads the data",
    ),
    mixture(
        id="clipped_kl",
        place="appendix A, last display",
        quote="Then the KL-divergence can be expressed in terms of the natural parameters of q by",
        statement="the printed formula equals the divergence",
        test=HoldsIn(file="kl_bound_claims.csv", claim="clipped_kl"),
    ),
    *claims_2021.CLAIMS,
)
