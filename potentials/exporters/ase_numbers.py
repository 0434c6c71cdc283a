# SPDX-License-Identifier: GPL-2.0-only
"""What a package's own ASE calculator gives for a structure: the reference of an archive."""

from ase import Atoms


def calculator_numbers(calculator, atoms, energies=True):
    """Energy, energies, forces and stress of a structure, as the package computes them. Some
    models have no energies of atoms."""
    system = Atoms(
        atoms["symbols"], positions=atoms["positions"], cell=atoms["cell"], pbc=atoms["pbc"]
    )
    system.calc = calculator
    numbers = {
        "energy": system.get_potential_energy(),
        "forces": system.get_forces(),
        "stress": system.get_stress(voigt=False),
    }
    if energies:
        numbers["energies"] = system.get_potential_energies()
    return numbers
