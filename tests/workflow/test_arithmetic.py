"""One thread everywhere; the common kernels where the processor has them."""

import os
import subprocess
import sys

import pytest

from workflow import arithmetic

FLAGS = "model name\t: some processor\nflags\t\t: fpu sse2 {}\nbugs\t\t: none\n"


@pytest.mark.parametrize(
    ("flags", "machine", "able"),
    [
        ("avx2 fma bmi2 avx512f", "x86_64", True),
        ("avx2 fma bmi2", "x86_64", True),
        ("avx2 fma", "x86_64", False),
        ("avx", "x86_64", False),
        ("avx2 fma bmi2", "aarch64", False),
    ],
)
def test_kernels_are_asked_for_where_the_processor_has_them(tmp_path, monkeypatch, flags, machine, able):
    path = tmp_path / "cpuinfo"
    path.write_text(FLAGS.format(flags))
    monkeypatch.setattr(arithmetic.platform, "machine", lambda: machine)
    assert arithmetic.runs_the_kernels(path) is able


AVX512 = "avx512f avx512cd avx512bw avx512dq avx512vl"


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (f"avx2 fma bmi2 {AVX512}", True),
        ("avx2 fma bmi2 avx512f", False),  # NumPy has no code for that, and warns where it is told to do without
        ("avx2 fma bmi2", False),
        (AVX512, False),
    ],
)
def test_numpy_is_told_to_do_without_avx512_where_the_processor_has_it(tmp_path, monkeypatch, flags, told):
    path = tmp_path / "cpuinfo"
    path.write_text(FLAGS.format(flags))
    monkeypatch.setattr(arithmetic.platform, "machine", lambda: "x86_64")
    assert ("NPY_DISABLE_CPU_FEATURES" in arithmetic.environment(path)) is told
    assert arithmetic.environment(path).keys() >= arithmetic.ONE_THREAD.keys()


def test_a_system_that_does_not_tell_keeps_its_own_kernels(tmp_path):
    assert not arithmetic.runs_the_kernels(tmp_path / "nothing")


def test_the_libraries_obey():
    if not arithmetic.runs_the_kernels():
        pytest.skip("this processor does not run these kernels")
    code = (
        "import numpy, torch; from threadpoolctl import threadpool_info; from llvmlite import binding; "
        "from numba.core import config; "
        "from numpy._core._multiarray_umath import __cpu_features__ as found; import jax; jax.numpy.ones(2).sum(); "
        "print({i.get('architecture') for i in threadpool_info() if i['internal_api'] == 'openblas'}, config.CPU_NAME, "
        "found['X86_V4'], torch.backends.cpu.get_cpu_capability())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **arithmetic.environment()}, capture_output=True, text=True
    )
    assert done.stdout.split() == ["{'Haswell'}", "haswell", "False", "AVX2"], done.stdout + done.stderr
