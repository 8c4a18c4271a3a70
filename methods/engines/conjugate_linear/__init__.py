"""Linear regression with unknown noise in the unit box: a row's likelihood is a member of the conjugate family."""

#: kinds of model this engine serves. A cell of another kind does not depend on it (``workflow.imports``).
MODELS = ("bounded_linear_regression",)
