"""A Slurm of one node on this machine, for a test: its daemons run in the foreground, as children of the test.

Everything that it writes is in one folder, and it is ended by the process ids that it started. It needs the programs of
Slurm and MUNGE, and no root: the daemons run as whoever runs the test.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "scancel", "srun")
#: seconds until a cluster that does not come up counts as broken.
UP_S = 60

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
ReturnToService=2
# the plugin asks squeue, which forgets a job after these seconds
MinJobAge=3600
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={megabytes} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Programs that this machine lacks; those of root's path count too."""
    return [p for p in PROGRAMS if shutil.which(p, path=search_path()) is None]


def search_path() -> str:
    """PATH with the folders where Debian keeps daemons."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which ``sbatch`` reaches the cluster; it is gone afterwards.

    Raises RuntimeError, with the logs, where it does not come up within ``UP_S``.
    """
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    # MUNGE wants a folder that nobody else can write into, all the way up, and a short path for its socket.
    munge = Path(tempfile.mkdtemp(prefix="munge-"))
    munge.chmod(0o711)
    key = munge / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    environment = {**os.environ, "PATH": search_path(), "SLURM_CONF": str(folder / "slurm.conf")}
    environment["PATH"] = f"{_srun(folder, environment)}{os.pathsep}{environment['PATH']}"
    (folder / "slurm.conf").write_text(_configuration(folder, munge), encoding="utf-8")
    started: list[subprocess.Popen] = []
    try:
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={munge / name}" for option, name in names.items()]
        started.append(_start(["munged", "--foreground", "--force", *options], folder, environment))
        _wait(lambda: (munge / "socket").exists(), "munged", started, folder)
        started.append(_start(["slurmctld", "-D"], folder, environment))
        started.append(_start(["slurmd", "-D"], folder, environment))
        _wait(lambda: _idle(environment), "the node", started, folder)
        yield environment
    finally:
        if len(started) > 1:
            command = ["scancel", "--full", "--partition=test"]
            subprocess.run(command, env=environment, capture_output=True, timeout=UP_S, check=False)
        for daemon in reversed(started):
            _end(daemon)
        shutil.rmtree(munge, ignore_errors=True)


def _srun(folder: Path, environment: dict[str, str]) -> Path:
    """A folder with an ``srun`` that knows where the configuration is.

    The plugin takes every variable ``SLURM_*`` from the srun inside a job, ``SLURM_CONF`` too: on a cluster the file
    stands where Slurm looks by itself, which a test leaves alone.
    """
    program = shutil.which("srun", path=environment["PATH"])
    wrapper = folder / "bin" / "srun"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nSLURM_CONF="{environment["SLURM_CONF"]}" exec {program} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper.parent


def _configuration(folder: Path, munge: Path) -> str:
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    ports = _free_ports(2)
    return CONFIGURATION.format(
        folder=folder,
        munge=munge,
        host=socket.gethostname().split(".")[0],
        user=getpass.getuser(),
        cpus=os.cpu_count(),
        megabytes=megabytes * 95 // 100,
        controller_port=ports[0],
        node_port=ports[1],
    )


def _free_ports(number: int) -> list[int]:
    held = [socket.socket() for _ in range(number)]
    try:
        for s in held:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in held]
    finally:
        for s in held:
            s.close()


def _start(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.Popen:
    program = shutil.which(command[0], path=environment["PATH"])
    with open(folder / f"{command[0]}.out", "wb") as out:
        return subprocess.Popen([program, *command[1:]], env=environment, stdout=out, stderr=subprocess.STDOUT)


def _idle(environment: dict[str, str]) -> bool:
    command = ["sinfo", "--noheader", "--format=%t"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=UP_S, check=False)
    return said.stdout.strip() == "idle"


def _wait(condition, what: str, started: list[subprocess.Popen], folder: Path) -> None:
    end = time.monotonic() + UP_S
    while time.monotonic() < end and all(d.poll() is None for d in started):
        if condition():
            return
        time.sleep(0.2)
    logs = "\n".join(f"{p.name}:\n{p.read_text(errors='replace')[-2000:]}" for p in sorted(folder.glob("*.o*")))
    logs += "\n".join(f"{p.name}:\n{p.read_text(errors='replace')[-2000:]}" for p in sorted(folder.glob("*.log")))
    raise RuntimeError(f"{what} did not come up within {UP_S} s on {sys.platform}:\n{logs}")


def _end(daemon: subprocess.Popen) -> None:
    daemon.terminate()
    try:
        daemon.wait(20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
