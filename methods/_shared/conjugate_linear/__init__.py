"""Linear regression with unknown noise on scaled inputs, where the likelihood of a row is conjugate to the prior."""
