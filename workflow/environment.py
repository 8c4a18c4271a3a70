"""The environment of a run: its arithmetic, whether its noise is secret, and what it was made with.

    env $(python -m workflow.environment) COMMAND
    python -m workflow.environment --manifest results/manifest.json --scale full

**Arithmetic.** It is the same on every machine: one thread, and the instructions of one processor. Training of networks
and Markov chains are chaotic: the last digit of a matrix product or an exponential changes where they end. NumPy,
OpenBLAS, numba, XLA and torch choose their code by the processor, so two machines round differently. This module makes
them choose the code of one processor that all x86-64 machines of the last ten years can run. Samples of all methods
except Markov chains then agree on AMD processors with and without AVX-512. We infer that they agree on Intel
processors.

Chains of NUTS differ between two AMD EPYC that both ran this code. We infer that XLA also tunes its code to the
processor. MKL, inside torch, is not set: it does not promise the same code on processors of other vendors, and fits in
single precision have a wider tolerance. On other processors the machine uses its own code, and numbers agree only
within the tolerances of config/gates.yaml.

**Noise.** It is public or secret. Public: every random number follows from the seed of its cell, so that a run can be
repeated bit for bit. An epsilon then protects nobody, because everybody can compute the noise. Secret: entropy of the
operating system is mixed into all streams of every fit that claims a guarantee (noise, batches and posterior draws),
and into all streams of a paper's own code (``workflow.program.stream``). Such a run cannot be repeated, restored or
committed.
"""

from __future__ import annotations

import argparse
import os
import platform
import secrets
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

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


PUBLIC, SECRET = NOISES = ("public", "secret")
#: the variable by which rules pass the choice of noise to processes that fit
NOISE_VARIABLE = "DPBAYES_NOISE"
#: libraries whose version may change a number, and others whose version a manifest has.
LIBRARIES = ("numpy", "scipy", "numba", "jax", "numpyro", "torch", "scikit-learn", "autodp", "dp-accounting")
OTHERS = ("prv-accountant", "pandas", "snakemake")


def _told(field: str, cpuinfo: Path = CPUINFO) -> str:
    """A field of the system's description of the processor. Empty if the system does not tell."""
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")


def flags(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """Features of the processor, as the system names them. Empty if the system does not tell, or is not x86-64."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return frozenset(_told("flags", cpuinfo).split() if x86 else ())


def runs_the_kernels(cpuinfo: Path = CPUINFO) -> bool:
    """Whether this machine can run ``KERNELS``. False if the system does not tell."""
    return flags(cpuinfo) >= _NEEDED


def variables(cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Environment variables of every process that computes numbers."""
    processor = flags(cpuinfo)
    if not processor >= _NEEDED:
        return dict(ONE_THREAD)
    without = ",".join(name for name, needed in _AVX512.items() if processor >= needed)
    return ONE_THREAD | KERNELS | ({"NPY_DISABLE_CPU_FEATURES": without} if without else {})


def noise_of_run() -> str:
    """The choice of noise of this run. Raises ValueError for another word."""
    word = os.environ.get(NOISE_VARIABLE, PUBLIC)
    if word not in NOISES:
        raise ValueError(f"{NOISE_VARIABLE} is '{word}'; choose {' or '.join(NOISES)}")
    return word


def generator(cell, split: int, role: str) -> np.random.Generator:
    """The stream of one split for ``role`` ("noise" or "fit"; see ``Cell.seed``)."""
    import numpy as np

    seed = cell.seed(split, role)
    return np.random.default_rng(mixed(seed) if cell.adapter().privacy is not None else seed)


def mixed(seed: Sequence[int]) -> Sequence[int]:
    """The seed of a stream. With secret noise, 128 bits of the operating system are appended."""
    return [*seed, secrets.randbits(128)] if noise_of_run() == SECRET else seed


def versions() -> dict[str, str]:
    """Installed versions of ``LIBRARIES`` and ``OTHERS``."""
    out = {}
    for name in LIBRARIES + OTHERS:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = "not installed"
    return out


def manifest(scale: str) -> dict:
    """Processor, versions, linear algebra, commit and command of this run. The commit has a mark if files differ."""
    import numpy  # noqa: F401 - loads the linear algebra library that threadpoolctl asks for its kernel
    from threadpoolctl import threadpool_info

    from workflow import imports

    blas = {f"{i['internal_api']} {i['version']} {i.get('architecture', '')}".strip() for i in threadpool_info()}
    return {
        "scale": scale,
        "noise": noise_of_run(),
        "command": os.environ.get("DPBAYES_COMMAND", ""),
        "commit": imports.head() + (" (with changes)" if imports.git("status", "--porcelain") else ""),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _told("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "blas": ", ".join(sorted(blas)),
        "versions": versions(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the variables of the environment, or write a run's manifest.")
    parser.add_argument("--manifest", metavar="FILE", help="write the manifest to this file")
    parser.add_argument("--scale", default="full")
    args = parser.parse_args()
    if not args.manifest:
        print(*(f"{name}={value}" for name, value in variables().items()))
        return
    from datasets.files import write_json

    write_json(args.manifest, manifest(args.scale))


if __name__ == "__main__":
    main()
