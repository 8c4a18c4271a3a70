"""Verified reuse in a copy of the project: what costs nothing, and what planted bugs do to a committed pair.

The pairs are cheap ones of a real experiment with its committed scores: the copy is verified first, then changed.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from project import copy_project, environment

from datasets.files import ROOT
from workflow import changes, closure, compare, reverify, verified
from workflow.changes import Changed
from workflow.experiments import cells
from workflow.papers import experiments as files

EXPERIMENT = "rdp_exponential_family"
NOISY, DRAWN = (EXPERIMENT, "sufficient_statistics_perturbation"), (EXPERIMENT, "posterior_sampling_diffused")


def git(project: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, cwd=project, check=True, capture_output=True)


def check(project: Path) -> subprocess.CompletedProcess:
    only = [word for pair in (NOISY, DRAWN) for word in ("--only", "/".join(pair))]
    command = [sys.executable, "-m", "workflow.gates", "check", "--changed", "--jobs", "1", *only]
    return subprocess.run(command, cwd=project, env=environment(), capture_output=True, text=True)


def rows(project: Path) -> dict:
    return verified.read(project / "reports/reference/verified.csv")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy that is a repository of one commit and one experiment, verified."""
    project = copy_project(tmp_path_factory.mktemp("verified"))
    for name, old in files().items():
        if name != EXPERIMENT:
            (project / old.relative_to(ROOT)).unlink()
    (project / "reports/reference/verified.csv").unlink(missing_ok=True)
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "a commit")
    done = check(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {p: r["status"] for p, r in rows(project).items()} == {NOISY: "verified", DRAWN: "verified"}
    git(project, "add", ".")
    git(project, "commit", "-qm", "verified")
    return project


#: what is planted, where, before and after; the pairs whose numbers it moves
BUGS = [
    ("metric", "evaluation/posterior_sampling.py", "-float(np.sum(log_density))", "-float(np.sum(log_density[1:]))"),
    ("scorer", "evaluation/scorers.py", "heldout_scores(case.posterior.log_density(case.test_x))",
     "heldout_scores(case.posterior.log_density(case.train_x))"),
    ("engine", "methods/sufficient_statistics/sufficient_statistics_perturbation.py", ".sum(axis=0)", ".mean(axis=0)"),
    ("worker", "workflow/worker.py", "data.x[train], y, public", "data.x[train] * 0, y, public"),
    ("budget", "privacy/budget.py", "_rng.normal(0.0, self.noise_scale", "_rng.normal(0.0, 0.99 * self.noise_scale"),
]  # fmt: skip
MORE = [
    ("seeds", "workflow/experiments.py", "str(split), role])", "str(split + 1), role])"),
    ("charge", "privacy/budget.py", "noise_scale=float(sensitivity", "noise_scale=1.01 * float(sensitivity"),
]
NAMED = [pytest.param(*b, id=b[0]) for b in BUGS] + [pytest.param(*b, id=b[0], marks=pytest.mark.slow) for b in MORE]


@pytest.mark.parametrize(("what", "path", "before", "after"), NAMED)
def test_a_planted_bug_is_caught(project, what, path, before, after):
    source = (project / path).read_text()
    assert before in source
    try:
        (project / path).write_text(source.replace(before, after))
        done = check(project)
        assert done.returncode == 1, done.stdout
        found = rows(project)
        assert found[NOISY]["status"] == "stale"
        assert ", was " in found[NOISY]["reason"]
        assert not verified.restorable(*NOISY, project / "reports/reference/verified.csv")
    finally:
        git(project, "checkout", "-q", ".")


def test_words_layout_and_a_checkout_cost_nothing(project):
    path = project / "privacy/budget.py"
    source = path.read_text()
    try:
        text = source.replace('"""The budget of one fit', '"""Other words: the budget of one fit')
        text = text.replace("def spend(", "# a comment\n    def spend(")
        text = text.replace("self.ledger.record(event)", "self.ledger.record(\n            event\n        )")
        assert text != source
        path.write_text(text)
        done = check(project)
        assert done.returncode == 0
        assert "0 of 2 pairs have changed" in done.stdout
    finally:
        git(project, "checkout", "-q", ".")


def test_a_change_that_is_undone_needs_no_run(project):
    """A stale row, and the checkout newer than all that it was made from."""
    path = project / "reports/reference/verified.csv"
    known = rows(project)
    try:
        verified.write({pair: row | {"status": "stale", "reason": "x"} for pair, row in known.items()}, path)
        done = check(project)
        assert done.returncode == 0
        assert "0 of 2 pairs have changed" in done.stdout
        assert rows(project) == known
    finally:
        git(project, "checkout", "-q", ".")


def test_a_refactor_that_moves_nothing_moves_the_rows_on(project):
    """In code that both pairs run; the row then names the new code and no run is needed any more."""
    path = project / "privacy/ledger.py"
    source = path.read_text()
    before = {p: r["closure"] for p, r in rows(project).items()}
    try:
        assert "self.events.append(event)" in source
        path.write_text(source.replace("self.events.append(event)", "self.events += [event]"))
        done = check(project)
        assert done.returncode == 0, done.stdout
        after = rows(project)
        assert all(after[p]["closure"] != before[p] and after[p]["status"] == "verified" for p in before)
        assert all(r["commit"] == "" for r in after.values())  # the change is not committed
        assert "0 of 2 pairs have changed" in check(project).stdout
    finally:
        git(project, "checkout", "-q", ".")


def test_changed_lines_that_no_sample_runs_leave_a_pair_unverified(project):
    """A branch that these samples do not take: equal numbers say nothing about it."""
    path = project / "privacy/ledger.py"
    source = path.read_text()
    try:
        branch = (
            "if event.steps > 10**9:\n            event = replace(event, steps=0)\n        self.events.append(event)"
        )
        path.write_text(source.replace("self.events.append(event)", branch))
        done = check(project)
        assert done.returncode == 1
        assert "agrees, but is not verified: changed lines that no sample executes: privacy/ledger.py" in done.stdout
        found = rows(project)[NOISY]
        assert found["status"] == "unverified"
        assert verified.restorable(*NOISY, project / "reports/reference/verified.csv")
    finally:
        git(project, "checkout", "-q", ".")


# ------------------------------------------------------------------------------------------------------ without a copy


def test_the_closure_holds_all_that_a_score_row_depends_on():
    chosen = cells(files()["common_logistic_regression"], "full")
    of = [c for c in chosen if c.method == "dp_vi_vinaroz_corrected"]
    found = set(closure.modules(of))
    for module in (
        *("workflow.worker", "workflow.draws", "workflow.exact", "workflow.score", "workflow.experiments"),
        *("evaluation.metrics", "evaluation.posterior_distance", "models.posteriors", "models.bounded"),
        *("models.bounded_logistic", "privacy.budget", "privacy.accountants", "privacy.scaling", "datasets.splits"),
        *(f"datasets.{d}" for d in {c.dataset for c in of}),
    ):
        assert module in found, module
    read = [c for c in cells(files()["nadpvi_exponential"], "full") if c.method == "na_dpvi_laplace"]
    assert "methods.dpvi.dpvi" in closure.modules(read)  # the run that it reads
    assert "evaluation.coverage" in closure.modules(read)


def test_lines_belong_to_statements(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(
        "x = 1\ndef f(y):\n    z = (\n        y\n    )\n    if z:\n        return 1\n    return z\n"
    )
    monkeypatch.setattr(reverify, "ROOT", tmp_path)
    found = reverify.executable("a.py")
    assert {line: first for line, (first, _) in found.items()} == {3: 3, 4: 3, 5: 3, 6: 6, 7: 7, 8: 8}
    assert found[7][1] == ("return 1", "if z:", "def f(y):")


def test_a_changed_line_must_have_been_executed_by_a_sample_that_agrees(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("def f(y):\n    z = y\n    if z:\n        z = 1\n    return z\n")
    monkeypatch.setattr(reverify, "ROOT", tmp_path)
    monkeypatch.setattr(reverify, "bands", lambda: {"not_executed": []})
    reverify.executable.cache_clear()
    lines, path = [Changed("a.py", "f", frozenset({4}))], str(tmp_path / "a.py")
    assert "a.py:4 (f)" in reverify.blind_spot(lines, {path: {2, 3, 5}})
    assert "a.py:4 (f)" in reverify.blind_spot(lines, {})
    assert reverify.blind_spot(lines, {path: {2, 3, 4, 5}}) == ""
    exemption = {"file": "a.py", "text": "if z", "reason": "why"}
    monkeypatch.setattr(reverify, "bands", lambda: {"not_executed": [exemption]})
    assert reverify.blind_spot(lines, {path: {2, 3, 5}}) == ""
    reverify.executable.cache_clear()


def test_a_lost_commit_is_said(monkeypatch):
    monkeypatch.setattr(changes, "known", lambda commit: False)
    monkeypatch.setattr(changes, "recent", list)
    reverify.base_commit.cache_clear()
    lines, reason = reverify.changed_lines({"closure": "0" * 16, "commit": "gone"}, ())
    assert lines == []
    assert "take a clone with its history" in reason
    reverify.base_commit.cache_clear()


def test_the_committed_table_covers_every_pair_of_the_reference():
    """None of them stale or not verified."""
    from workflow import committed

    names = committed.experiments(compare.REFERENCE)
    committed = {(name, m) for name in names for m in committed.read(compare.REFERENCE, name)["method"].unique()}
    found = verified.read()
    assert set(found) == committed
    assert {r["status"] for r in found.values()} == {"verified"}
    assert all(r["closure"] and r["versions"] and r["how"] for r in found.values())


def test_every_commit_of_the_table_is_known():
    """Else a later check cannot tell what changed since."""
    if not (ROOT / ".git").exists():
        pytest.skip("no repository")
    named = {r["commit"] for r in verified.read().values()} - {""}
    assert all(changes.known(commit) for commit in named)
