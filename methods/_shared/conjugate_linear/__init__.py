"""Linear regression with unknown noise in the unit box: a row's likelihood is a member of the conjugate family."""
