"""The same arithmetic on every machine: one thread, and the instructions of one processor.

Training of networks and Markov chains are chaotic: the last digit of a matrix product or an exponential decides where
they end. NumPy, OpenBLAS, numba, XLA and torch choose their code by the processor, so that two machines round
differently. Told to take the code of one processor that all x86-64 machines of the last ten years can run, they round
alike: samples of all methods but Markov chains agree on AMD's with and without AVX-512; that they do on Intel's is
inferred. Chains of NUTS differ between two AMD EPYC that both ran this code; we infer that XLA also tunes its code to
the processor. MKL, inside torch, is not told: it does not promise the same code on other vendors' processors, and fits
in single precision have a wider band. On other processors the code is the machine's own, and numbers agree within the
bands of config/gates.yaml only.
"""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
#: variables that must be in the environment before NumPy or numba are imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NPROC": "1"}
#: code for AVX2 and FMA, without AVX-512. numba adds what the machine has to what the named processor has, unless it is
#: given features of its own.
KERNELS = {
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "-avx512f",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
_NEEDED = {"avx2", "fma", "bmi2"}
#: NumPy's exponentials, logarithms and hyperbolic functions have code of their own for each of these; what needs which
#: flags. It warns where it is told to do without what the processor does not have.
_AVX512 = {"X86_V4": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}}
_AVX512["AVX512_ICL"] = _AVX512["X86_V4"] | {
    *("avx512ifma", "avx512vbmi", "avx512_vbmi2", "avx512_bitalg", "avx512_vpopcntdq", "avx512_vnni"),
    *("gfni", "vaes", "vpclmulqdq"),
}
_AVX512["AVX512_SPR"] = _AVX512["AVX512_ICL"] | {"avx512_fp16", "avx512_bf16"}


def flags(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """What the processor can do, by the system's names; nothing where it does not tell, or is no x86-64."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not cpuinfo.is_file():
        return frozenset()
    lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def runs_the_kernels(cpuinfo: Path = CPUINFO) -> bool:
    """Can this machine run ``KERNELS``? False where the system does not tell."""
    return flags(cpuinfo) >= _NEEDED


def environment(cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Variables of every process that makes numbers."""
    found = flags(cpuinfo)
    if not found >= _NEEDED:
        return dict(ONE_THREAD)
    without = ",".join(name for name, needed in _AVX512.items() if found >= needed)
    return ONE_THREAD | KERNELS | ({"NPY_DISABLE_CPU_FEATURES": without} if without else {})


if __name__ == "__main__":  # for the shell: env $(python -m workflow.arithmetic) COMMAND
    print(*(f"{name}={value}" for name, value in environment().items()))
