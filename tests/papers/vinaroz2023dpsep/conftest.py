"""The made-up experiment of the reports' tests."""

from tests.reports.conftest import all_verdicts, base, config, scores, scores_of  # noqa: F401
