# SPDX-License-Identifier: GPL-2.0-only
"""Evaluate an archive through LAMMPS or alone, and compare the two."""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from simulation import RunFailed, read_dump, read_loop_seconds, read_thermo, run_lammps, vectors
from structure import Reference, restricted_rotation, to_restricted_frame, write_data

# LAMMPS's own factors: pressure unit per energy/volume unit, and eV per energy unit.
UNITS = {"metal": (1.6021765e6, 1.0), "real": (68568.415, 1.0 / 23.060549)}
VOIGT = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass
class Settings:
    """How a structure is run. Empty strings leave LAMMPS's own choice."""

    archive: str
    card: str = ""
    ranks: int = 1
    processors: str = ""
    open_boundary: str = "f"  # kind of an open boundary: f, s or m
    style: str = "nvalchemi"
    pair_arguments: str = ""
    pair_lines: tuple = ()  # replace pair_style and pair_coeff
    alone_arguments: tuple = ()  # of nvalchemi-evaluate
    comm: str = "brick"
    balance: str = ""  # balance style after reading, such as "rcb"
    newton: str = "on"
    units: str = "metal"
    skin: float = 1.0
    steps: int = 0  # evaluations to time after the first
    kokkos: str = "on"  # arguments of -k, for a style that ends in /kk
    before_box: tuple = ()  # further input lines
    before_run: tuple = ()
    timeout: float = 600


@dataclass
class Decomposed:
    """What LAMMPS found, in its own frame, in eV and Angstrom."""

    reference: Reference
    exchanges: dict
    seconds_per_step: float
    log: str


def pair_lines(settings, symbols):
    """The commands that choose the potential; `symbols`: one element for each atom type."""
    if settings.pair_lines:
        return list(settings.pair_lines)
    words = [settings.style, settings.pair_arguments]
    if settings.card:
        words += ["card", f'"{Path(settings.card).resolve()}"']
    return [
        "pair_style " + " ".join(word for word in words if word),
        f'pair_coeff * * "{Path(settings.archive).resolve()}" {" ".join(symbols)}',
    ]


def opening_lines(installation, settings, periodic, atom_style="atomic"):
    """Everything before the box exists."""
    boundary = " ".join("p" if p else settings.open_boundary for p in periodic)
    lines = [
        f"units {settings.units}",
        f"atom_style {atom_style}",
        f"newton {settings.newton}",
        f"boundary {boundary}",
        f"plugin load {installation.plugin}",
    ]
    lines += settings.before_box
    if settings.processors:
        lines.append(f"processors {settings.processors}")
    if settings.comm == "tiled" or settings.balance == "rcb":
        lines.append("comm_style tiled")
    return lines


def kokkos_arguments(settings):
    """LAMMPS's arguments for a style of Kokkos; the suffix is for the atom style and the others."""
    return ["-k", *settings.kokkos.split(), "-sf", "kk"]


def input_script(installation, settings, structure):
    lines = opening_lines(installation, settings, structure.periodic, structure.atom_style)
    lines += ["read_data case.data"]
    if settings.balance:
        lines.append(f"balance 1.0 {settings.balance}")
    lines += pair_lines(settings, structure.species)
    lines += [
        f"neighbor {settings.skin:.17g} bin",
        "compute atomic all pe/atom",
        "compute virial all pressure NULL virial",
        "thermo_style custom step pe vol " + " ".join(f"c_virial[{k + 1}]" for k in range(6)),
        "thermo_modify format float %.17g",
        "dump forces all custom 1 forces.dump id type x y z fx fy fz c_atomic",
        "dump_modify forces sort id format float %.17g",
        *settings.before_run,
        "run 0",
        "undump forces",
    ]
    if settings.steps:
        lines += [f"thermo {settings.steps}", f"run {settings.steps}"]
    return "\n".join(lines) + "\n"


def read_exchanges(log):
    """Exchanges per step that the style reports, None where it reports none."""
    found = re.search(r"exchanges per step: (\d+) forward, (\d+) reverse", log)
    forward, backward = map(int, found.groups()) if found else (None, None)
    return {"forward": forward, "backward": backward}


def read_sums(log):
    """Sums over all ranks in a step, as the style reports them."""
    return int(re.search(r"exchanges per step: \d+ forward, \d+ reverse, (\d+) sum", log)[1])


def run_decomposed(installation, structure, settings, folder=None, ids=None):
    """Energy, forces and virial from LAMMPS, in its frame, for atoms in the structure's order.
    `ids`: atom ids, any distinct numbers."""
    with tempfile.TemporaryDirectory(prefix="nvalchemi-case-") as scratch:
        folder = Path(folder or scratch)
        write_data(folder / "case.data", structure, ids=ids)
        arguments = kokkos_arguments(settings) if "/kk" in settings.style else []
        run = run_lammps(
            installation,
            input_script(installation, settings, structure),
            settings.ranks,
            folder,
            settings.timeout,
            arguments,
        ).require_success()
        snapshot = read_dump(folder / "forces.dump")[0]
    thermo = read_thermo(run.log)[0]
    if len(snapshot["id"]) != len(structure):
        raise RunFailed(f"LAMMPS holds {len(snapshot['id'])} atoms, expected {len(structure)}")
    if ids is not None:
        rows = np.argsort(np.argsort(ids))
        snapshot = {name: column[rows] for name, column in snapshot.items() if name != "step"}
    per_pressure, ev = UNITS[settings.units]
    virial = np.zeros((3, 3))
    for k, (a, b) in enumerate(VOIGT):
        pressure = thermo[f"c_virial[{k + 1}]"][0]
        virial[a, b] = virial[b, a] = pressure / per_pressure * thermo["Volume"][0] * ev
    found = Reference(
        thermo["PotEng"][0] * ev,
        snapshot["c_atomic"] * ev,
        vectors(snapshot, "fx fy fz") * ev,
        virial,
    )
    loops = [seconds / steps for seconds, steps in read_loop_seconds(run.log)[1:] if steps]
    return Decomposed(found, read_exchanges(run.log), loops[0] if loops else None, run.log)


def evaluate_alone(installation, structure, settings, timeout=600):
    """The archive on the whole structure, in its frame, without LAMMPS."""
    if not installation.evaluate:
        raise RunFailed(
            "nvalchemi-evaluate: not found; build the package or set NVALCHEMI_EVALUATE"
        )
    with tempfile.TemporaryDirectory(prefix="nvalchemi-alone-") as scratch:
        case = Path(scratch) / "case.json"
        case.write_text(json.dumps(structure.to_document()))
        output = Path(scratch) / "out.json"
        command = [
            installation.evaluate,
            "--archive",
            str(settings.archive),
            "--structure",
            str(case),
            "--output",
            str(output),
        ]
        if settings.card:
            command += ["--card", settings.card]
        command += settings.alone_arguments
        done = subprocess.run(
            command,
            env=installation.environment(1),
            timeout=timeout,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != 0:
            raise RunFailed(done.stdout.strip())
        found = json.loads(output.read_text())

    def number(values):
        return np.array([[np.nan if v is None else v for v in row] for row in values])

    virial = number(found["virial"]) if found.get("virial") else np.full((3, 3), np.nan)
    return Reference(
        float("nan") if found["energy"] is None else found["energy"],
        number([found["energies"]])[0],
        number(found["forces"]),
        virial,
    )


def alone_in_lammps_frame(installation, structure, settings):
    return evaluate_alone(installation, to_restricted_frame(structure), settings)


def differences(found, reference, volume):
    """Largest absolute differences, eV and Angstrom. The stress compares the six components that
    LAMMPS has; it divides the virial by the box volume, also along open directions."""
    six = np.array([found.virial[a, b] - reference.virial[a, b] for a, b in VOIGT])
    return {
        "dE": abs(found.energy - reference.energy),
        "dEatom": float(np.max(np.abs(found.energies - reference.energies), initial=0.0)),
        "dF": float(np.max(np.abs(found.forces - reference.forces), initial=0.0)),
        "dS": float(np.max(np.abs(six))) / volume,
    }


def magnitudes(reference, volume):
    """Largest absolute value of each quantity that `differences` compares."""
    return {
        "dE": abs(reference.energy),
        "dEatom": float(np.max(np.abs(reference.energies), initial=0.0)),
        "dF": float(np.max(np.abs(reference.forces), initial=0.0)),
        "dS": float(np.max(np.abs(reference.virial))) / volume,
    }


def case_in_lammps_frame(structure, case_reference):
    """The stored numbers, turned as LAMMPS turns the structure."""
    return case_reference.rotated(restricted_rotation(structure.cell))
