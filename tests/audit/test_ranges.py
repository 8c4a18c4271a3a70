"""The audit of ranges over all doubles, which no toy task of ``audit.cases`` estimates. 40 CPU seconds.

Twelve rows show a range only at a large epsilon.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import pytest

from audit import cases
from privacy import audit, mutants
from privacy.budget import Ranges
from privacy.mutants import Mutant

SPEC = dataclasses.replace(cases.SPEC, epsilon=1000.0, ranges=Ranges.ALL)
ADAPTERS = [
    ("bounded_linear_regression/adassp", "bounded_linear_regression"),
    ("output_perturbation", "bounded_logistic_regression"),
    ("dp_single_gaussian", "bounded_mixture"),
]
_RANGES, _VIA = "privacy.ranges", ("methods._shared.frames", "methods._shared.conjugate_linear.release")
BROKEN = [
    Mutant("bare counts", r"noisy = mechanism\.release\((.*)\)\n", r"noisy = \1\n", _RANGES, via=_VIA),
    Mutant("bare moments", r"sums = mechanism\.release\((.*)\)\n", r"sums = \1\n", _RANGES, via=_VIA),
    Mutant("half of the weight", r"sensitivity=math\.sqrt\(\(each", r"sensitivity=0.5 * math.sqrt((each", _RANGES,
           via=_VIA),
    Mutant("a row in two bins", r"where = np\.searchsorted\(.*\)", r"\g<0>\n        where = np.append(where, where)",
           _RANGES, via=_VIA),
    Mutant("no clipping", r"np\.clip\(np\.nan_to_num\(u, copy=False, nan=0\.0, posinf=1\.0, neginf=-1\.0\), -1\.0, "
           r"1\.0, out=u\)", "np.nan_to_num(u, copy=False)", _RANGES, via=_VIA),
    Mutant("private number of rows", r"rows = 2\.0 \* float\(sums\[-1\]\)",
           "rows = float(len(values)); n = len(values)", _RANGES, via=_VIA),
]  # fmt: skip


def found(name, case, method=None):
    made = cases.audit_of(name, case, method, SPEC, quick=True)
    return cases.found_by(made, first=True)


@pytest.mark.parametrize(("name", "case"), ADAPTERS)
def test_ranges_of_all_doubles_pass_every_check(name, case):
    case += cases.NO_RANGES
    method = cases.get(name)
    fit = audit.run(method, cases.tiny_task(case), cases.tiny_settings(method), SPEC, 1)
    proofs = [e.proof for e in fit.ledger]
    assert "privacy.ranges.interval_counts" in proofs
    assert "privacy.ranges.moment_sums" in proofs
    assert "privacy.scaling.range_counts" not in proofs
    assert found(name, case) == {}


@pytest.mark.parametrize("mutant", BROKEN, ids=[m.name for m in BROKEN])
def test_each_mutant_of_the_ranges_is_caught(mutant):
    name, case = ADAPTERS[0]
    case += cases.NO_RANGES
    assert mutants.kills(cases.get(name), None, partial(found, name, case)) == {}
    assert mutants.kills(cases.get(name), mutant, partial(found, name, case))
