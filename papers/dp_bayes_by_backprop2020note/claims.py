"""Claims of the note on differentially private Bayes by backprop (2020)."""

from functools import partial

from reports.claims import Claim, HoldsIn

claim = partial(Claim, experiment="bbb_mnist", source="dp_bayes_by_backprop2020note")

CLAIMS = (
    claim(
        id="bbb_post_processing",
        place="section 3",
        quote=(
            "In one of the batch in the epoch ... will be (ϵ, δ) -differentially private. By post-processing "
            "property of differential privacy, the whole one epoch is (ϵ, δ) -differentially private"
        ),
        statement=(
            "the second sentence, given the first (which the claim on the sensitivity tests): with the noisy "
            "gradients at hand the updates of mu and rho read no row"
        ),
        test=HoldsIn(file="bbb_claims.csv", claim="post_processing"),
        proof=(
            "post-processing (Dwork and Roth 2014, proposition 2.1): mu and rho are functions of the noisy gradients"
        ),
    ),
    claim(
        id="bbb_sensitivity",
        place="section 3",
        quote="(after gradient clipping etc.) is smaller than C",
        statement=(
            "the clipped sum moves by no more than C: for a row that is replaced, as in section 1 (printed), "
            "or that comes or goes (corrected)"
        ),
        test=HoldsIn(file="bbb_claims.csv", claim="sensitivity"),
        repair="a row comes or goes instead of being replaced",
    ),
    claim(
        id="bbb_classical_sigma",
        place="section 3",
        quote=(
            "Therefore by choosing σ to be $\\sqrt{2 \\log \\frac{1.25}{\\delta}} / \\epsilon$, then by property "
            "of gaussian mechanism"
        ),
        statement=(
            "with this sigma one release of sensitivity C is (epsilon, delta)-differentially private: at "
            "every epsilon (printed), at those of the experiment (corrected)"
        ),
        test=HoldsIn(file="bbb_claims.csv", claim="classical_sigma"),
        repair="epsilon is one of the experiment, 8 at most",
    ),
    claim(
        id="bbb_epochs_only",
        place="section 3",
        quote="For each epoch, there is only 1 batch which will result in potentially different update of parameters",
        statement="a row that is replaced changes at most one release an epoch, given equal releases before",
        test=HoldsIn(file="bbb_claims.csv", claim="epochs_only"),
        proof="algorithm 1: the batches are fixed before the first epoch, so a row is in one batch of each epoch",
    ),
    claim(
        id="bbb_advanced_composition",
        place="section 3.1",
        quote="the whole algorithm achieves $(O(\\sqrt{T}\\epsilon\\sqrt{1/\\delta}), T\\delta)$ -differential privacy",
        statement="the exact epsilon at T delta is below sqrt(T) epsilon sqrt(1 / delta), with constant 1",
        test=HoldsIn(file="bbb_claims.csv", claim="advanced_composition"),
        proof="advanced composition (Dwork and Roth 2014, theorem 3.20), as sqrt(ln(1 / delta)) <= sqrt(1 / delta)",
    ),
    claim(
        id="bbb_same_bound",
        place="section 3.2",
        quote="The DP bound for BBB algorithm is the same as that of the noisy SGD algorithm",
        statement="at equal noise the epsilon of the note's scheme is that of DP-SGD, to 5 %",
        test=HoldsIn(file="bbb_claims.csv", claim="same_bound"),
    ),
    claim(
        id="bbb_rho_update",
        place="algorithm 1",
        quote=(
            "Calculate the noisy overall BP gradient of ... \\Delta_{\\rho_b} = \\bar{g}_b \\frac{\\epsilon}{1 + "
            "\\exp(-\\rho)} + r_b"
        ),
        statement="the mean of Delta_rho is the gradient of the objective in rho, within the margin of 0.1 s'(rho) / s",
        test=HoldsIn(file="bbb_claims.csv", claim="rho_update"),
        repair="the gradient of the entropy through the draw is added",
    ),
    claim(
        id="bbb_mu_update",
        place="algorithm 1",
        quote="Calculate the noisy overall BP gradient of ... \\Delta_{\\mu_b} = \\bar{g}_b + m_b",
        statement="the mean of Delta_mu is the gradient of the objective in mu, here -1, within the margin of 0.1",
        test=HoldsIn(file="bbb_claims.csv", claim="mu_update"),
    ),
)
