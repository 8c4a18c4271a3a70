"""left out: a method that fits nothing."""

from methods.contract import Method


class Bare(Method):
    name = title = reference = "import_no_fit"
    models = ("bnn_regression",)
