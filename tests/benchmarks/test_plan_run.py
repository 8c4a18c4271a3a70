"""The benchmark of planning: what it reads of a dry run."""

import sys

import pytest

from benchmarks import plan_run


def test_cost_is_of_the_process_and_says_where_it_failed(tmp_path):
    busy = "import time; t = time.process_time()\nwhile time.process_time() < t + 0.3: pass\nprint('total  7')"
    seconds, megabytes, said = plan_run.cost([sys.executable, "-c", busy], tmp_path)
    assert seconds >= 0.3
    assert megabytes > 1
    assert plan_run.jobs_in(f"job count\n{said}") == 7
    with pytest.raises(RuntimeError, match="ended with 3"):
        plan_run.cost([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)
