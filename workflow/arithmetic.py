"""The same floating-point arithmetic on every machine: one thread, and the instructions of one processor.

Training of networks and Markov chains are chaotic: the last digit of a matrix product or an exponential changes where
they end. NumPy, OpenBLAS, numba, XLA and torch choose their code by the processor, so two machines round differently.
This module makes them choose the code of one processor that all x86-64 machines of the last ten years can run. Samples
of all methods except Markov chains then agree on AMD processors with and without AVX-512. We infer that they agree on
Intel processors.

Chains of NUTS differ between two AMD EPYC that both ran this code. We infer that XLA also tunes its code to the
processor. MKL, inside torch, is not set: it does not promise the same code on processors of other vendors, and fits in
single precision have a wider tolerance. On other processors the machine uses its own code, and numbers agree only
within the tolerances of config/gates.yaml.
"""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
#: variables that must be in the environment before NumPy or numba are imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NPROC": "1"}
#: code for AVX2 and FMA, without AVX-512. numba adds the features of the machine to those of the named processor,
#: unless features are given.
KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "-avx512f",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
_NEEDED = {"avx2", "fma", "bmi2"}
#: feature of NumPy -> flags of the processor that it needs. Exponentials, logarithms and hyperbolic functions have
#: other code for each. NumPy warns if a feature is disabled that the processor does not have.
_AVX512 = {"X86_V4": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}}
_AVX512["AVX512_ICL"] = _AVX512["X86_V4"] | {
    *("avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_bitalg", "avx512_vpopcntdq", "avx512_vnni"),
    *("gfni", "vaes", "vpclmulqdq"),
}
_AVX512["AVX512_SPR"] = _AVX512["AVX512_ICL"] | {"avx512_fp16", "avx512_bf16"}


def flags(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """Features of the processor, as the system names them. Empty if the system does not tell, or is not x86-64."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not cpuinfo.is_file():
        return frozenset()
    lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def runs_the_kernels(cpuinfo: Path = CPUINFO) -> bool:
    """Whether this machine can run ``KERNELS``. False if the system does not tell."""
    return flags(cpuinfo) >= _NEEDED


def environment(cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Environment variables of every process that computes numbers."""
    processor = flags(cpuinfo)
    if not processor >= _NEEDED:
        return dict(ONE_THREAD)
    without = ",".join(name for name, needed in _AVX512.items() if processor >= needed)
    return ONE_THREAD | KERNELS | ({"NPY_DISABLE_CPU_FEATURES": without} if without else {})


if __name__ == "__main__":  # for the shell: env $(python -m workflow.arithmetic) COMMAND
    print(*(f"{name}={value}" for name, value in environment().items()))
