# SPDX-License-Identifier: GPL-2.0-only
"""Measures the rows and draws the figures of doc/gallery.rst.

    python3 measure_gallery.py [--steps N] [--ranks K] [--figures FOLDER] NAME=ARCHIVE:CASE...

Each NAME is a row: an archive, and a case (a structure with the numbers of the model's package, in
the form of unittest/mpi/run_case.py). Prints, for each, the exchanges and system sums of a step as
the pair style reports them, and the largest differences of LAMMPS on K ranks from the case's own
numbers. Draws forces against the case's, and the total energy along N steps without a thermostat.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "unittest" / "mpi"))

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402
import own_environment  # noqa: E402, F401  (starts anew under the package's Python if need be)
from comparison import (  # noqa: E402
    Settings,
    alone_in_lammps_frame,
    case_in_lammps_frame,
    differences,
    input_script,
    run_decomposed,
)
from installation import find_installation  # noqa: E402
from simulation import read_thermo, run_lammps  # noqa: E402
from structure import read_case, to_restricted_frame, write_data  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

MASSES = {"O": 15.999, "Na": 22.98976928, "Si": 28.085, "Cl": 35.453}
TIMESTEP = 0.001  # ps
TEMPERATURE = 300.0  # K


def row_of(word):
    """NAME=ARCHIVE:CASE."""
    name, _, files = word.partition("=")
    archive, _, case = files.rpartition(":")
    if not (name and archive and case):
        raise SystemExit(f"got '{word}', expected NAME=ARCHIVE:CASE")
    return name, archive, case


def exchanges_of(log):
    """'1 forward width 16, 1 reverse width 16' from the table in a log."""
    found = re.findall(r"^\s*\d+ (forward|reverse|sum)\s+width\s+(\d+)", log, re.M)
    counts = {}
    for kind, width in found:
        counts.setdefault(kind, []).append(int(width))
    return {kind: counts.get(kind, []) for kind in ("forward", "reverse", "sum")}


def measure(installation, archive, case, ranks):
    """(numbers of the row, forces of LAMMPS, forces that are right, both in LAMMPS's frame)."""
    structure, reference = read_case(case)
    settings = Settings(archive=archive, ranks=ranks)
    found = run_decomposed(installation, structure, settings)
    if reference is None:
        right, against = alone_in_lammps_frame(installation, structure, settings), "undecomposed"
    else:
        right, against = case_in_lammps_frame(structure, reference), "the case"
    numbers = {
        "ranks": ranks,
        "atoms": len(structure),
        "against": against,
        "exchanges": exchanges_of(found.log),
        **differences(found.reference, right, structure.volume),
    }
    return numbers, found.reference.forces, right.forces


def conserve(installation, archive, case, ranks, steps):
    """Times (ps) and total energies (eV an atom) of a run without a thermostat."""
    structure = to_restricted_frame(read_case(case)[0])
    settings = Settings(archive=archive, ranks=ranks)
    masses = [
        f"mass {kind} {MASSES[symbol]}" for kind, symbol in enumerate(structure.species, start=1)
    ]
    script = input_script(installation, settings, structure)
    head = script[: script.index("compute atomic all")]
    lines = [
        *masses,
        f"velocity all create {TEMPERATURE} 4928459 loop geom",
        "fix move all nve",
        f"timestep {TIMESTEP}",
        "thermo_style custom step etotal temp",
        "thermo_modify format float %.17g",
        f"thermo {max(1, steps // 50)}",
        f"run {steps}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder) / "case.data", structure)
        text = head + "\n".join(lines) + "\n"
        run = run_lammps(installation, text, ranks, Path(folder), timeout=3600).require_success()
    (thermo,) = read_thermo(run.log)
    return thermo["Step"] * TIMESTEP, thermo["TotEng"] / len(structure), thermo["Temp"]


def draw_parity(rows, path):
    columns = min(3, len(rows))
    lines = -(-len(rows) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(3.2 * columns, 3.1 * lines))
    panels = np.atleast_1d(panels).ravel()
    for panel in panels[len(rows) :]:
        panel.axis("off")
    for panel, (name, numbers, found, right) in zip(panels, rows, strict=False):
        panel.plot(right.ravel(), found.ravel(), ".", markersize=3)
        ends = [right.min(), right.max()]
        panel.plot(ends, ends, "-", linewidth=0.5, color="grey")
        panel.set_title(f"{name}: largest difference {numbers['dF']:.0e}", fontsize=8)
        panel.set_xlabel("force, model alone (eV/A)", fontsize=8)
        panel.set_ylabel(f"LAMMPS, {numbers['ranks']} ranks (eV/A)", fontsize=8)
        panel.tick_params(labelsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def draw_energy(rows, ranks, path):
    figure, panel = plt.subplots(figsize=(7, 4))
    for name, times, energies, _ in rows:
        panel.plot(times, 1e3 * (energies - energies[0]), label=name)
    panel.set_xlabel("time (ps)")
    panel.set_ylabel("total energy - its first value (meV an atom)")
    panel.set_title(f"constant energy, {ranks} ranks, {1e3 * TIMESTEP:g} fs", fontsize=10)
    panel.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="+", metavar="NAME=ARCHIVE:CASE")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--figures", default=str(REPOSITORY / "doc" / "figures"))
    arguments = parser.parse_args()
    installation = find_installation()
    figures = Path(arguments.figures)
    figures.mkdir(parents=True, exist_ok=True)
    parity, energy = [], []
    for name, archive, case in map(row_of, arguments.rows):
        numbers, found, right = measure(installation, archive, case, arguments.ranks)
        parity.append((name, numbers, found, right))
        if arguments.steps:
            moved = conserve(installation, archive, case, arguments.ranks, arguments.steps)
            energy.append((name, *moved))
            numbers["drift_ev_per_atom"] = float(np.ptp(moved[1]))
            numbers["mean_temperature"] = float(np.mean(moved[2]))
        print(json.dumps({"name": name, **numbers}), flush=True)
    draw_parity(parity, figures / "gallery_parity.png")
    if energy:
        draw_energy(energy, arguments.ranks, figures / "gallery_energy.png")


if __name__ == "__main__":
    main()
