"""The same arithmetic on every machine: one thread, and the kernels of one processor.

Training of networks is chaotic: the last digit of a matrix product decides where it ends. OpenBLAS and numba choose
their kernels by the processor, so that two machines round differently; told to take those of one processor that all
x86-64 machines of the last ten years can run, they give the same digits everywhere. (XLA and torch, as this suite uses
them, agree to their printed digits without.) On other processors the kernels are those of the machine, and numbers
agree within the bands of config/gates.yaml only.
"""

from __future__ import annotations

import platform
from pathlib import Path

#: variables that must stand in the environment before NumPy or numba are imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NPROC": "1"}
#: kernels for AVX2 and FMA, without AVX-512.
KERNELS = {"OPENBLAS_CORETYPE": "Haswell", "NUMBA_CPU_NAME": "haswell"}
_NEEDED = {"avx2", "fma", "bmi2"}


def runs_the_kernels(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Can this machine run ``KERNELS``? False where the system does not tell."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not cpuinfo.is_file():
        return False
    lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    flags = next((line.partition(":")[2] for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= _NEEDED


def environment() -> dict[str, str]:
    """Variables of every process that makes numbers."""
    return ONE_THREAD | (KERNELS if runs_the_kernels() else {})


if __name__ == "__main__":  # for the shell: env $(python -m workflow.arithmetic) COMMAND
    print(*(f"{name}={value}" for name, value in environment().items()))
