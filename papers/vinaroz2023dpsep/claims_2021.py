"""Claims of the first version of DP-SEP (Vinaroz & Park 2021); most are in the second as well."""

from papers.vinaroz2023dpsep.claim_tests import Closer, Larger
from reports.claims import Better, Claim, HoldsIn, Method, NotTestable, NotWorse, own

SOURCE = "vinaroz2021dpsep"

CLAIMS = (
    Claim(
        id="v1_mog_not_separated",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 6.1",
        quote="for a restrictive privacy regime ... the clusters obtained by DP-SEP are not well separated",
        statement="at epsilon = 1 DP-SEP assigns more points to a wrong cluster than SEP, by more than the margin",
        test=Larger(Method("dp_sep", setting="epsilon=1"), "sep", tables=("1",), metric="label_error", by_margin=True),
        same_as="mog_not_separated",
    ),
    Claim(
        id="v1_mog_approaches_nonprivate",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 6.1",
        quote=(
            "as we increase the privacy loss, the performance of DP-SEP gets closer to the non-private ones "
            "(SEP and EP) and the ground truth"
        ),
        statement="the F-norm falls with each step up in epsilon",
        test=Closer("dp_sep", tables=("1",), along="epsilon", metric="fnorm"),
        same_as="mog_approaches_nonprivate",
    ),
    Claim(
        id="v1_mog_higher_uncertainty",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 6.1",
        quote="The posterior from DP-SEP exhibits a higher uncertainty than the other non-private methods",
        statement="the posterior standard deviation of DP-SEP is larger than that of SEP and of EP at every epsilon",
        test=Larger("dp_sep", ("sep", own("ep")), tables=("1",), metric="posterior_sd"),
        same_as="mog_higher_uncertainty",
    ),
    Claim(
        id="v1_mog_tradeoff_poor",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 6.1",
        quote="the privacy-accuracy trade-off measured in terms of F-norm and KL divergence proxy is poor",
        statement="the F-norm of DP-SEP is larger than that of SEP at every epsilon, by more than the margin",
        test=Larger("dp_sep", "sep", tables=("1",), metric="fnorm_average", by_margin=True),
        same_as="mog_tradeoff_poor",
    ),
    Claim(
        id="v1_tradeoff_not_poor_large_data",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 6.1, last sentence",
        quote="However, in the next experiment with large datasets, this is not the case",
        statement=(
            "DP-SEP is not worse than SEP by more than the margin, in RMSE and test log-likelihood on every data set"
        ),
        test=NotWorse("dp_sep", "sep", tables=("2", "3")),
        same_as="tradeoff_not_poor_large_data",
    ),
    Claim(
        id="v1_adf_poor_uncertainty",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 6.2",
        quote=(
            "ADF is a simpler version of EP which only maintains a global approximation in memory but also "
            "produces poor uncertainty estimates"
        ),
        statement="not tested",
        test=NotTestable(why="the sentence does not say with what the poor estimates are compared"),
    ),
    Claim(
        id="v1_dp_sep_comparable_to_sep",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 6.2",
        quote="The results show that DP-SEP performance over the different datasets is comparable to SEP",
        statement=(
            "DP-SEP is not worse than SEP by more than the margin, in RMSE and test log-likelihood on every data set"
        ),
        test=NotWorse("dp_sep", "sep", tables=("2", "3")),
        same_as="dp_sep_comparable_to_sep",
    ),
    Claim(
        id="v1_dp_sep_better_on_kin8nm",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 6.2",
        quote="and even better in some cases as for Kin8nm",
        statement="DP-SEP has the better RMSE and test log-likelihood on Kin8nm",
        test=Better("dp_sep", "sep", tables=("2", "3"), datasets=("kin8nm",), quantifier="all"),
        same_as="dp_sep_better_on_kin8nm",
    ),
    Claim(
        id="v1_clipping_reduces_rmse",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 6.2",
        quote="has a positive effect on the original algorithm and reduces the test averaged RMSE in most cases",
        statement="SEP clipped has the lower RMSE on more than half of the data sets",
        test=Better("clipped_sep", "sep", tables=("2",), quantifier="most"),
        same_as="clipping_reduces_rmse",
    ),
    Claim(
        id="v1_clipping_regularises",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 6.2",
        quote=(
            "This seems to indicate that clipping acts as a regularizer (or a constraint) for the posterior "
            "to be well concentrated"
        ),
        statement="not tested",
        test=NotTestable(why="no score measures how concentrated a posterior is"),
        same_as="clipping_regularises",
    ),
    Claim(
        id="v1_mog_higher_uncertainty_conclusion",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 7",
        quote=(
            "DP-SEP produces approximate posterior estimates that present higher uncertainty than those "
            "generated by non-private methods due to the added noise"
        ),
        statement="the posterior standard deviation of DP-SEP is larger than that of SEP and of EP at every epsilon",
        test=Larger("dp_sep", ("sep", own("ep")), tables=("1",), metric="posterior_sd"),
        same_as="mog_higher_uncertainty",
    ),
    Claim(
        id="v1_mog_relaxing_privacy_helps",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 7",
        quote="relaxing the privacy constraints improves the private posterior approximates",
        statement="the F-norm falls with each step up in epsilon",
        test=Closer("dp_sep", tables=("1",), along="epsilon", metric="fnorm"),
        same_as="mog_approaches_nonprivate",
    ),
    Claim(
        id="v1_dp_sep_often_better_than_sep",
        experiment="dpsep_uci",
        source=SOURCE,
        place="section 7",
        quote="DP-SEP often yields the posterior approximates that are better than those by SEP",
        statement=(
            "DP-SEP has the better score in at least half of the comparisons (RMSE and test log-likelihood, "
            "every data set)"
        ),
        test=Better("dp_sep", "sep", tables=("2", "3"), quantifier="often"),
        same_as="dp_sep_often_better_than_sep",
    ),
    Claim(
        id="v1_kl_bound_holds",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="theorem 4.1, equation 5",
        quote="the probability that the KL divergence between the two is bounded by",
        statement=(
            "the noise meets the premise of the bound (printed); given that it does, the bound is no smaller "
            "than the expected divergence (corrected)"
        ),
        test=HoldsIn(file="kl_bound_claims.csv", claim="v1_bound_holds"),
        repair="the noise is small against Sigma_q, as the proof needs, and Sigma_q is fixed",
    ),
    Claim(
        id="v1_kl_scales",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 4",
        quote="the divergence between the private posterior and nonprivate posterior distributions scales with 1/N",
        statement=(
            "the divergence has a value at the largest N (printed); given the event that the proof needs, its mean "
            "falls at least as fast as 1/N (corrected)"
        ),
        test=HoldsIn(file="kl_bound_claims.csv", claim="v1_scales_1_over_n"),
        repair="the noise is small against Sigma_q, as the proof needs, and Sigma_q is fixed",
    ),
    Claim(
        id="v1_kl_uncertainty",
        experiment="dpsep_mixture",
        source=SOURCE,
        place="section 4",
        quote=(
            "when the non-private posterior has a large uncertainty (the inverse matrix will have a small "
            "eigenvalues in this case), the upper bound gets smaller than when the non-private posterior has "
            "a high certainty"
        ),
        statement="the bound at half the precision is smaller than at the whole",
        test=HoldsIn(file="kl_bound_claims.csv", claim="v1_uncertainty"),
        proof=(
            "theorem 4.1: at fixed tau and A the bound grows when Sigma_q^-1 is scaled up, as v(Z) and "
            "Tr[Sigma_q^-1] do"
        ),
    ),
)
