# SPDX-License-Identifier: GPL-2.0-only
"""i-PI moves the atoms and LAMMPS with the plugin gives the forces, through `fix ipi`."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from crystals import ARCHIVE, SKIPPED, archive_alone, rattled

# isort: split
from structure import Structure, write_data

I_PI = Path(sys.executable).parent / "i-pi"
LAMMPS = os.environ.get("NVALCHEMI_LAMMPS", "")
MPIEXEC = os.environ.get("NVALCHEMI_MPIEXEC", "")
HARTREE, BOHR = 27.211386245988, 0.529177210903  # eV, Angstrom (CODATA 2018)
STEPS = 4

SIMULATION = """
<simulation verbosity="low">
  <output prefix="sim">
    <properties stride="1" filename="out">[ step, potential, conserved, kinetic_md ]</properties>
    <trajectory stride="1" filename="for" format="xyz">forces</trajectory>
    <checkpoint stride="{steps}" filename="state" overwrite="false"/>
  </output>
  <total_steps>{steps}</total_steps>
  <prng><seed>31415</seed></prng>
  <ffsocket mode="unix" name="lmp" pbc="false"><address>{address}</address></ffsocket>
  <system>
    <initialize nbeads="1">
      <file mode="xyz" units="angstrom" cell_units="angstrom">start.xyz</file>
      <velocities mode="thermal" units="kelvin">300</velocities>
    </initialize>
    <forces><force forcefield="lmp"/></forces>
    <motion mode="dynamics">
      <dynamics mode="nve"><timestep units="femtosecond">0.5</timestep></dynamics>
    </motion>
    <ensemble><temperature units="kelvin">300</temperature></ensemble>
  </system>
</simulation>
"""
DRIVER = """
units           metal
atom_modify     map array
read_data       start.data
pair_style      nvalchemi device cpu threads 1
pair_coeff      * * {archive} Na Cl
fix             driver all ipi {address} 1 unix
run             100000000
"""


def write_start(folder, symbols, positions, cell):
    write_data(folder / "start.data", Structure(symbols, positions, cell))
    lengths = " ".join(f"{value:.10f}" for value in np.diag(cell))
    lines = [str(len(symbols)), f"# CELL(abcABC): {lengths} 90 90 90"]
    lines += [f"{s} {x:.16e} {y:.16e} {z:.16e}" for s, (x, y, z) in zip(symbols, positions)]
    (folder / "start.xyz").write_text("\n".join(lines) + "\n")


def positions_in(state):
    """(atoms, 3) of an i-PI checkpoint, the only file that holds all digits; Angstrom."""
    text = ElementTree.parse(state).find(".//beads/q").text
    return np.array([float(word) for word in text.strip(" []\n").split(",")]).reshape(-1, 3) * BOHR


def frames(path, atoms):
    """(frames, atoms, 3) of an i-PI trajectory, in its units, with six digits."""
    lines = path.read_text().splitlines()
    return np.array(
        [
            [[float(word) for word in line.split()[1:4]] for line in lines[start + 2 :][:atoms]]
            for start in range(0, len(lines), atoms + 2)
        ]
    )


class IPi(unittest.TestCase):
    def run_both(self, folder, ranks):
        """i-PI as the server and LAMMPS as its client, both to their ends."""
        address = f"nvalchemi_{os.getpid()}_{ranks}"
        text = SIMULATION.format(steps=STEPS, address=address)
        (folder / "input.xml").write_text(text)
        (folder / "in.driver").write_text(DRIVER.format(archive=ARCHIVE, address=address))
        with open(folder / "i-pi.log", "w") as log:
            server = subprocess.Popen(
                [sys.executable, I_PI, "input.xml"], cwd=folder, stdout=log, stderr=log
            )
            try:
                socket = Path(f"/tmp/ipi_{address}")
                for _ in range(300):
                    if socket.exists() or server.poll() is not None:
                        break
                    subprocess.run(["sleep", "0.1"])
                client = subprocess.run(
                    [MPIEXEC, "-n", str(ranks), LAMMPS, "-in", "in.driver", "-log", "none"],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    timeout=200,
                )
                server.wait(timeout=60)
            finally:
                server.kill()
        output = (folder / "i-pi.log").read_text()
        self.assertEqual(server.returncode, 0, output + client.stdout)
        return np.loadtxt(folder / "sim.out")

    def check(self, ranks):
        basis = [[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]
        basis += [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5], [0.5, 0.5, 0.5]]
        crystal = rattled(["Na"] * 4 + ["Cl"] * 4, basis, 5.64 * np.eye(3), (2, 2, 2), 4)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_start(folder, *crystal)
            properties = self.run_both(folder, ranks)
            states = [positions_in(folder / f"sim.state_{k}") for k in (0, 1)]
            forces = frames(folder / "sim.for_0.xyz", len(crystal[0])) * HARTREE / BOHR
        self.assertEqual(len(properties), STEPS + 1)
        self.assertGreater(np.abs(states[1] - states[0]).max(), 1e-3)  # the atoms do move
        for step, positions in zip((0, STEPS), states):
            alone = archive_alone(crystal[0], positions, crystal[2])
            # The two programs' lengths of a bohr differ in the ninth digit, which moves atoms at
            # 11 A by 1e-7 A; forces are written with six digits.
            energy = properties[step, 1] * HARTREE
            self.assertAlmostEqual(energy / alone["energy"], 1, delta=1e-7)
            np.testing.assert_allclose(forces[step], alone["forces"], rtol=1e-5, atol=1e-6)
        exchanged = np.ptp(properties[:, 3])  # between kinetic and potential energy
        self.assertLess(np.ptp(properties[:, 2]), 0.02 * exchanged)

    def test_one_rank_gives_the_archives_forces_along_a_trajectory(self):
        self.check(1)

    def test_two_ranks_give_the_archives_forces_along_a_trajectory(self):
        self.check(2)


if __name__ == "__main__":
    if not (LAMMPS and MPIEXEC and I_PI.exists()):
        print(f"SKIPPED: no lmp, no mpiexec or no {I_PI}")
        sys.exit(SKIPPED)
    unittest.main()
