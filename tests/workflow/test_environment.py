"""One thread everywhere; the common kernels where the processor has them."""

import os
import subprocess
import sys

import pytest

from workflow import environment

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
    monkeypatch.setattr(environment.platform, "machine", lambda: machine)
    assert environment.runs_the_kernels(path) is able


AVX512 = "avx512f avx512cd avx512bw avx512dq avx512vl"


ICE_LAKE = (
    f"{AVX512} avx512ifma avx512vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni gfni vaes vpclmulqdq"
)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (f"avx2 fma bmi2 {AVX512}", "X86_V4"),
        (f"avx2 fma bmi2 {ICE_LAKE}", "X86_V4,AVX512_ICL"),
        (f"avx2 fma bmi2 {ICE_LAKE} avx512_bf16 avx512_fp16", "X86_V4,AVX512_ICL,AVX512_SPR"),
        ("avx2 fma bmi2 avx512f", None),  # NumPy has no code for that, and warns where it is told to do without
        ("avx2 fma bmi2", None),
        (AVX512, None),
    ],
)
def test_numpy_is_told_to_do_without_avx512_where_the_processor_has_it(tmp_path, monkeypatch, flags, told):
    path = tmp_path / "cpuinfo"
    path.write_text(FLAGS.format(flags))
    monkeypatch.setattr(environment.platform, "machine", lambda: "x86_64")
    assert environment.variables(path).get("NPY_DISABLE_CPU_FEATURES") == told
    assert environment.variables(path).keys() >= environment.ONE_THREAD.keys()


def test_a_system_that_does_not_tell_keeps_its_own_kernels(tmp_path):
    assert not environment.runs_the_kernels(tmp_path / "nothing")


@pytest.mark.nightly
def test_the_libraries_obey():
    if not environment.runs_the_kernels():
        pytest.skip("this processor does not run these kernels")
    code = """
import jax, numba, numpy, torch
from numba.core import config
from numpy._core._multiarray_umath import __cpu_features__ as found
from threadpoolctl import threadpool_info

@numba.njit(fastmath=True)  # a sum that may be reordered is vectorised
def total(x):
    s = 0.0
    for value in x:
        s += value
    return s

jax.numpy.ones(2).sum()  # XLA refuses a flag that it does not know
total(numpy.ones(99))
(compiled,) = total.inspect_asm().values()
print({i.get("architecture") for i in threadpool_info() if i["internal_api"] == "openblas"}, config.CPU_NAME,
      "ymm" in compiled, "zmm" in compiled, any(found[k] for k in ("X86_V4", "AVX512_ICL", "AVX512_SPR")),
      torch.backends.cpu.get_cpu_capability())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment.variables()},
        capture_output=True,
        text=True,
    )
    wanted = ["{'Haswell'}", "haswell", "True", "False", "False", "AVX2"]
    assert done.stdout.split() == wanted, done.stdout + done.stderr
