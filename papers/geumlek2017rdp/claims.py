"""Claims of Geumlek, Song & Chaudhuri (2017), Renyi differential privacy mechanisms for posterior sampling."""

from functools import partial

from papers.geumlek2017rdp.budget_claims import AtEveryBudget, NeverWorse
from reports.claims import Claim, HoldsIn, Method

SOURCE = "geumlek2017rdp"
families = partial(Claim, experiment="rdp_exponential_family", source=SOURCE)
logistic = partial(Claim, experiment="rdp_logistic", source=SOURCE)

CLAIMS = (
    families(
        id="rdp_asymptotes",
        place="corollary 1 (figure 1 for r and m)",
        quote="Algorithm 1 achieves (λ, ϵ) -RDP iff $\\lambda > 1$ and $\\lambda < 1 + \\min(\\alpha_0, \\beta_0)$",
        statement=(
            "the divergence is finite below lambda* = 1 + min(alpha0, beta0) / r for algorithm 2, with m for "
            "algorithm 3, and infinite above it (algorithm 1: r = m = 1)"
        ),
        test=HoldsIn(file="rdp_claims.csv", claim="asymptotes"),
        proof="appendix A.1, proof of theorem A.3, with r Diff or eta0 / m in place of Diff and eta0",
    ),
    families(
        id="rdp_reach_zero",
        place="section 5.1, figure 2 a",
        quote="read off figure 2 a",
        statement="at lambda = 2, below lambda*, both methods reach a KL divergence of zero",
        test=HoldsIn(file="rdp_claims.csv", claim="reach_zero"),
    ),
    families(
        id="rdp_stay_away",
        place="section 5.1, figure 2 b",
        quote="read off figure 2 b",
        statement=(
            "at lambda = 15, above lambda*, both methods stay away from zero while the Gaussian mechanism goes to zero"
        ),
        test=HoldsIn(file="rdp_claims.csv", claim="stay_away"),
    ),
    families(
        id="rdp_concentrated_diverges",
        place="section 5.1, figure 2",
        quote="read off figure 2 a and b",
        statement=(
            "as epsilon goes to 0 the divergence of the concentrated posterior from the true one grows without limit"
        ),
        test=HoldsIn(file="rdp_claims.csv", claim="concentrated_diverges"),
        proof=(
            "algorithm 3 at m to 0: Beta(alpha0 / m + k, beta0 / m + n - k) tends to a point mass at the prior mean"
        ),
    ),
    families(
        id="rdp_diffused_to_prior",
        place="section 5.1, figure 2",
        quote="read off figure 2 a and b",
        statement="as epsilon goes to 0 the divergence of the diffused posterior tends to that of the prior",
        test=HoldsIn(file="rdp_claims.csv", claim="diffused_to_prior"),
        proof="algorithm 2 at r = 0: eta' = eta0",
    ),
    families(
        id="rdp_corollary_2",
        place="corollary 2",
        quote=(
            "is therefore equivalent to the maximum of $D_\\lambda(p(\\theta|\\eta_P)||p(\\theta|\\eta_Q))$ where "
            "$\\eta_P \\in \\eta_0 + \\{(0, n), (n, n)\\}$ and $\\eta_Q \\in \\eta_P \\pm (r, 0)$"
        ),
        statement="that maximum equals the supremum over all neighbouring data sets",
        test=HoldsIn(file="rdp_claims.csv", claim="corollary_2"),
        repair="the pairs are only those that data sets can have",
    ),
    families(
        id="rdp_theorem_16",
        place="theorem 16",
        quote=(
            "then sampling with posterior in (17) satisfies $(\\lambda, \\frac{2c^2 B^2}{n\\beta} \\lambda)$ -RDP"
            " for all $\\lambda \\geq 1$"
        ),
        statement="the bound is no smaller than the divergence of the pair of theorem 18",
        test=HoldsIn(file="rdp_claims.csv", claim="theorem_16"),
        proof="appendix A.4.1 (log-Sobolev inequality and Herbst's argument)",
    ),
    families(
        id="rdp_theorem_18",
        place="theorem 18",
        quote=(
            "there exists λ_0 , such that for any $\\lambda > \\lambda_0$ , λ -Rényi Divergence between "
            "logistic regression posteriors under D and D' with Gaussian prior is larger than "
            "$\\frac{c^2}{2n\\beta}(\\lambda - 1)$"
        ),
        statement="the divergence of the pair that the proof builds is above the bound at every order above 1",
        test=HoldsIn(file="rdp_claims.csv", claim="theorem_18"),
        proof=(
            "appendix A.4.2; for every order above 1, as the exact divergence of that pair is (lambda - 1) "
            "tau^2 / 2, the bound, and a term that is not negative"
        ),
    ),
    families(
        id="rdp_crossing",
        place="section 5.2, Achievable Privacy Levels",
        quote="achieves ϵ -DP with $\\epsilon = \\frac{4c^2\\rho}{\\beta}$",
        statement=(
            "at equal beta, c and rho this guarantee, of OPS, and that of algorithms 5 and 6, 2 c^2 rho^2 "
            "lambda / (n beta), cross at lambda = 2 n / rho"
        ),
        test=HoldsIn(file="rdp_claims.csv", claim="crossing"),
        proof="the ratio of the two guarantees is lambda rho / (2 n)",
    ),
    logistic(
        id="rdp_glm_beats_ops",
        place="section 5.2, figure 3 (test error) and appendix A.5, figure 6 (test log-likelihood)",
        quote="read off figure 3 and figure 6",
        statement=(
            "the curves of algorithms 5 and 6 lie on the better side of the curve of OPS, on every data set "
            "at every lambda and epsilon"
        ),
        test=AtEveryBudget(
            ("posterior_sampling_glm_concentrated", "posterior_sampling_glm_diffused"),
            Method("posterior_sampling_ops", setting="as charged"),
            metrics=("test_error", "test_log_likelihood"),
            corrected=Method("posterior_sampling_ops", setting="fair"),
            quantifier="all",
        ),
    ),
    logistic(
        id="rdp_glm_diffused_error",
        place="section 5.2, figure 3",
        quote="read off figure 3",
        statement="the test error of algorithm 6 is nowhere above that of algorithm 5 by more than the margin",
        test=NeverWorse(
            "posterior_sampling_glm_diffused", "posterior_sampling_glm_concentrated", metrics=("test_error",)
        ),
    ),
    logistic(
        id="rdp_glm_diffused_likelihood",
        place="appendix A.5, figure 6",
        quote="read off figure 6",
        statement=(
            "the test log-likelihood of algorithm 6 is nowhere below that of algorithm 5 by more than the margin"
        ),
        test=NeverWorse(
            "posterior_sampling_glm_diffused", "posterior_sampling_glm_concentrated", metrics=("test_log_likelihood",)
        ),
    ),
)
