# SPDX-License-Identifier: GPL-2.0-only
"""Run LAMMPS inputs on several ranks and read back what they print, 17 digits everywhere."""

import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# MPICH's name for a rank's place on its node, handed on under one that LAMMPS's Kokkos reads.
TELL_LOCAL_RANK = 'SLURM_LOCALID="${SLURM_LOCALID:-${MPI_LOCALRANKID:-0}}" exec "$0" "$@"'


class RunFailed(Exception):
    """LAMMPS ended with an error; the text is its message."""


@dataclass
class Run:
    status: int  # exit status of mpiexec; None after a timeout
    output: str  # screen output of all ranks
    log: str
    seconds: float

    @property
    def message(self):
        """LAMMPS's error message, or the end of the output where there is none."""
        if self.status is None:
            return f"timeout after {self.seconds:.0f} s\n" + self.output[-2000:]
        found = re.search(
            r"^ERROR.*?(?=^(?:Last |MPI_|Abort|=====|For more)|\Z)", self.output, re.M | re.S
        )
        return found.group(0).strip() if found else self.output[-2000:].strip()

    def require_success(self):
        if self.status != 0:
            raise RunFailed(self.message)
        return self


def run_lammps(
    installation,
    script,
    ranks,
    folder,
    timeout=600,
    arguments=(),
    environment=None,
    ranks_environment=None,
):
    """Run `script` (text) in `folder`. `ranks_environment`: {rank: {name: value}}."""
    folder = Path(folder)
    (folder / "in.lammps").write_text(script)
    command = [installation.lammps, "-in", "in.lammps", "-log", "log.lammps", *arguments]
    if "g" in arguments:
        command = ["sh", "-c", TELL_LOCAL_RANK, *command]
    env = installation.environment(ranks)
    env.update(environment or {})
    launch = [installation.mpiexec, "-n", str(ranks), *command]
    if ranks_environment:
        launch = [installation.mpiexec]
        for rank in range(ranks):
            pairs = [f"{key}={value}" for key, value in ranks_environment.get(rank, {}).items()]
            launch += [":"] * (rank > 0) + ["-n", "1", "env", *pairs, *command]
    start = time.monotonic()
    process = subprocess.Popen(
        launch,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # mpiexec ends its ranks
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        status = None
    log = folder / "log.lammps"
    return Run(
        status,
        output,
        log.read_text(errors="replace") if log.exists() else "",
        time.monotonic() - start,
    )


def read_dump(path):
    """Snapshots of a `dump custom` file: dictionaries from column name to array, and `step`."""
    snapshots = []
    with open(path) as stream:
        lines = stream.read().splitlines()
    at = 0
    while at < len(lines):
        step, count = int(lines[at + 1]), int(lines[at + 3])
        names = lines[at + 8].split()[2:]
        rows = np.array([line.split() for line in lines[at + 9 : at + 9 + count]], dtype=float)
        rows = rows.reshape(count, len(names))
        snapshots.append({name: rows[:, k] for k, name in enumerate(names)})
        snapshots[-1]["step"] = step
        at += 9 + count
    return snapshots


def vectors(snapshot, names):
    return np.stack([snapshot[name] for name in names.split()], axis=1)


def read_thermo(log):
    """One dictionary from column name to array for each run in a log."""
    tables, names, rows = [], None, []
    for line in log.splitlines():
        words = line.split()
        if words and words[0] == "Step":
            names, rows = words, []
        elif names and line.startswith("Loop time"):
            tables.append(
                {name: np.array([row[k] for row in rows]) for k, name in enumerate(names)}
            )
            names = None
        elif names and len(words) == len(names):
            try:
                rows.append([float(word) for word in words])
            except ValueError:
                continue  # a message between two rows
    return tables


def read_loop_seconds(log):
    """(seconds, steps) of each run in a log."""
    return [
        (float(seconds), int(steps))
        for seconds, steps in re.findall(
            r"^Loop time of (\S+) on \d+ procs for (\d+) steps", log, re.M
        )
    ]
