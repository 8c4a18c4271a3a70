"""Linear regression with unknown noise on inputs scaled to [-1, 1]: a row's likelihood is a member of the conjugate
family."""
