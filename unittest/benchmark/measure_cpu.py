# SPDX-License-Identifier: GPL-2.0-only
"""Measure the numbers of doc/planning.rst: time of a step and memory, on CPUs.

    python3 measure_cpu.py [--cells N...] [--ranks N...] [--threads N] [--steps N] NAME=ARCHIVE...

After `. build/env.sh`, on a machine that does nothing else. The system is rattled NaCl at its
experimental density: 8 atoms a cell, N x N x N cells, 25 neighbours within 5 Angstrom. The loop is
LAMMPS's, constant energy, after a first one of 3 steps that warms up. Processor time is that of the
average rank: on one rank it tells the time of a step where the machine has other work too. Memory
is the largest resident set of the fullest rank. Prints one line of JSON for each run.
"""

import argparse
import json
import os
import platform
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "unittest" / "mpi"))

import own_environment  # noqa: E402, F401  (starts anew under the package's Python if need be)
from installation import find_installation  # noqa: E402
from simulation import read_loop_seconds, run_lammps  # noqa: E402

INPUT = """
plugin load {plugin}
units metal
lattice custom 5.64 basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 &
    basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 22.99
mass 2 35.45
displace_atoms all random 0.1 0.1 0.1 1 units box
pair_style nvalchemi threads {threads}
pair_coeff * * {archive} Na Cl
neighbor 1.0 bin
timestep 0.001
velocity all create 300.0 4928459 loop geom
fix move all nve
thermo 1000
run 3
run {steps}
"""

# Stands in for lmp: runs it and says how large it became.
LAUNCHER = """#!/bin/sh
exec {python} -c 'import resource, subprocess, sys
status = subprocess.call(["{lammps}", *sys.argv[1:]], close_fds=False)
print("PEAK", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, "kB", flush=True)
sys.exit(status)' "$@"
"""


def measure(installation, archive, cells, ranks, threads, steps):
    with tempfile.TemporaryDirectory() as folder:
        launcher = Path(folder) / "lmp"
        launcher.write_text(LAUNCHER.format(python=sys.executable, lammps=installation.lammps))
        launcher.chmod(0o755)
        script = INPUT.format(
            plugin=installation.plugin, archive=archive, cells=cells, threads=threads, steps=steps
        )
        run = run_lammps(
            replace(installation, lammps=str(launcher)),
            script,
            ranks,
            folder,
            3600,
            environment={"OMP_NUM_THREADS": str(threads)},
        ).require_success()
    (seconds, count) = read_loop_seconds(run.log)[-1]
    busy = float(re.findall(r"^([\d.]+)% CPU use", run.log, re.M)[-1]) / 100.0
    peaks = [int(peak) for peak in re.findall(r"PEAK (\d+) kB", run.output)]
    atoms = 8 * cells**3
    return {
        "atoms": atoms,
        "ranks": ranks,
        "threads": threads,
        "seconds_a_step": seconds / count,
        "ms_an_atom_and_step": 1e3 * seconds / count / atoms,
        "processor_ms_an_atom_and_step": 1e3 * busy * seconds / count / atoms,
        "peak_mib": round(max(peaks) / 1024),
        "load": round(os.getloadavg()[0], 1),
    }


def processor():
    """The name of this machine's processor."""
    with open("/proc/cpuinfo") as stream:
        found = re.search(r"^model name\s*: (.*)$", stream.read(), re.M)
    return f"{found[1] if found else platform.processor()}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="NAME=ARCHIVE")
    parser.add_argument("--cells", nargs="+", type=int, default=[3, 5])
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    installation = find_installation()
    print(json.dumps({"processor": processor()}), flush=True)
    for name, archive in (model.split("=", 1) for model in options.models):
        for cells in options.cells:
            for ranks in options.ranks:
                numbers = measure(
                    installation,
                    Path(archive).resolve(),
                    cells,
                    ranks,
                    options.threads,
                    options.steps,
                )
                print(json.dumps({"name": name, **numbers}), flush=True)


if __name__ == "__main__":
    main()
