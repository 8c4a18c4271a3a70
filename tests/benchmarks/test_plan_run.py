"""The benchmarks of planning: what they read of a dry run, and the cells that they make up."""

import subprocess
import sys

import pytest

from benchmarks import many_cells, plan_run


def test_cost_is_of_the_process_and_says_where_it_failed(tmp_path):
    busy = "import time; t = time.process_time()\nwhile time.process_time() < t + 0.3: pass\nprint('total  7')"
    seconds, megabytes, said = plan_run.cost([sys.executable, "-c", busy], tmp_path)
    assert seconds >= 0.3
    assert megabytes > 1
    assert plan_run.jobs_in(f"job count\n{said}") == 7
    with pytest.raises(RuntimeError, match="ended with 3"):
        plan_run.cost([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)


def test_made_up_cells_are_as_many_as_asked_for(tmp_path):
    for folder in ("methods", "datasets", "common_tasks/experiments", "papers/one"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "common_tasks/experiments/old.yaml").write_text("")
    (tmp_path / "papers/one/__init__.py").write_text("")
    many_cells.write(tmp_path, 3, 2, 4)
    made = list((tmp_path / "methods/made_up").iterdir())
    assert len(made) == 3
    assert [p.name for p in (tmp_path / "common_tasks/experiments").iterdir()] == ["many_cells.yaml"]
    assert not (tmp_path / "papers/one").exists()
    for path in made:
        subprocess.run([sys.executable, "-m", "py_compile", str(path)], check=True)
    text = (tmp_path / "common_tasks/experiments/many_cells.yaml").read_text()
    assert text.count("method: made_up_") == 3 * 4
    assert "datasets: [table_000, table_001]" in text
