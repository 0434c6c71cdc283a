# SPDX-License-Identifier: GPL-2.0-only
"""Structures in the case format, turned, repeated, opened and written for LAMMPS.

A case is a JSON file with `symbols`, `cell` (rows are lattice vectors), `pbc` and `positions`, and
the reference `energy`, `energies`, `forces` and `stress` (dE/dstrain / V), in eV and Angstrom.
"""

import json
from dataclasses import dataclass, field, replace

import numpy as np

# Standard atomic weights (u); for elements without stable isotopes that of a long-lived one.
ATOMIC_MASSES = dict(
    zip(
        """H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn
        Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La
        Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po
        At Rn Fr Ra Ac Th Pa U Np Pu""".split(),
        [
            float(mass)
            for mass in """1.008 4.0026 6.94 9.0122 10.81 12.011 14.007 15.999 18.998 20.180
    22.990 24.305 26.982 28.085 30.974 32.06 35.45 39.95 39.098 40.078 44.956 47.867 50.942 51.996
    54.938 55.845 58.933 58.693 63.546 65.38 69.723 72.630 74.922 78.971 79.904 83.798 85.468 87.62
    88.906 91.224 92.906 95.95 98 101.07 102.91 106.42 107.87 112.41 114.82 118.71 121.76 127.60
    126.90 131.29 132.91 137.33 138.91 140.12 140.91 144.24 145 150.36 151.96 157.25 158.93 162.50
    164.93 167.26 168.93 173.05 174.97 178.49 180.95 183.84 186.21 190.23 192.22 195.08 196.97
    200.59 204.38 207.2 208.98 209 210 222 223 226 227 232.04 231.04 238.03 237 244""".split()
        ],
    )
)


@dataclass
class Reference:
    """What a model says about a structure, in eV and Angstrom."""

    energy: float
    energies: np.ndarray  # (n,)
    forces: np.ndarray  # (n, 3)
    virial: np.ndarray  # (3, 3) -dE/dstrain, eV; NaN where it is not known

    def rotated(self, rotation):
        return replace(
            self, forces=self.forces @ rotation.T, virial=rotation @ self.virial @ rotation.T
        )

    def repeated(self, count):
        return Reference(
            self.energy * count,
            np.tile(self.energies, count),
            np.tile(self.forces, (count, 1)),
            self.virial * count,
        )


@dataclass
class Structure:
    symbols: list
    positions: np.ndarray  # (n, 3) Angstrom
    cell: np.ndarray  # (3, 3) rows are lattice vectors, right-handed
    periodic: tuple = (True, True, True)
    origin: np.ndarray = field(default_factory=lambda: np.zeros(3))  # corner of the box
    charges: tuple = ()  # in e, for atom_style charge; empty: atom_style atomic
    inputs: dict = field(default_factory=dict)  # what a case gives a model under names

    def __len__(self):
        return len(self.symbols)

    @property
    def volume(self):
        return abs(np.linalg.det(self.cell))

    @property
    def atom_style(self):
        return "charge" if self.charges else "atomic"

    @property
    def species(self):
        """Distinct symbols in order of appearance: LAMMPS type k is species[k - 1]."""
        return list(dict.fromkeys(self.symbols))

    def rotated(self, rotation):
        return replace(
            self,
            positions=self.positions @ rotation.T,
            cell=self.cell @ rotation.T,
            origin=rotation @ self.origin,
        )

    def translated(self, shift):
        return replace(self, positions=self.positions + np.asarray(shift))

    def repeated(self, counts):
        """Images in the order that `Reference.repeated` expects: whole copies one by one."""
        shifts = [np.array(index) @ self.cell for index in np.ndindex(*counts)]
        return replace(
            self,
            symbols=self.symbols * len(shifts),
            charges=tuple(self.charges) * len(shifts),
            positions=np.concatenate([self.positions + shift for shift in shifts]),
            cell=self.cell * np.array(counts)[:, None],
        )

    def reordered(self, axes):
        """The same crystal with its lattice vectors renamed by a cyclic order such as (1, 2, 0),
        so that another one lies along LAMMPS's x axis."""
        return replace(
            self, cell=self.cell[list(axes)], periodic=tuple(self.periodic[axis] for axis in axes)
        )

    def opened(self, periodic, margin=1.0):
        """The same atoms with these periodic directions. An open direction is made perpendicular
        to the others, as LAMMPS's boxes need it, and long enough to hold all atoms."""
        if all(periodic):
            return replace(self, periodic=(True, True, True))
        cell = open_cell(self.cell, periodic)
        inverse = np.linalg.inv(cell)
        fractions = self.positions @ inverse
        origin = np.zeros(3)
        for axis in range(3):
            if not periodic[axis]:
                low, high = fractions[:, axis].min() - margin, fractions[:, axis].max() + margin
                origin = origin + low * cell[axis]
                cell[axis] = cell[axis] * (high - low)
        return replace(self, cell=cell, periodic=tuple(periodic), origin=origin)

    def to_document(self):
        return {
            "symbols": self.symbols,
            "cell": self.cell.tolist(),
            "pbc": [bool(p) for p in self.periodic],
            "positions": self.positions.tolist(),
            **({"charges": list(self.charges)} if self.charges else {}),
            **({"inputs": self.inputs} if self.inputs else {}),
        }


def open_cell(cell, periodic):
    """Unit vectors (right-handed together with the periodic vectors) in open directions."""
    cell = np.array(cell, dtype=float)
    kept = [axis for axis in range(3) if periodic[axis]]
    if len(kept) == 2:
        axis = ({0, 1, 2} - set(kept)).pop()
        normal = np.cross(cell[(axis + 1) % 3], cell[(axis + 2) % 3])
        cell[axis] = normal / np.linalg.norm(normal)
    elif len(kept) == 1:
        axis = kept[0]
        along = cell[axis] / np.linalg.norm(cell[axis])
        other = np.cross(along, np.eye(3)[np.argmin(abs(along))])
        cell[(axis + 1) % 3] = other / np.linalg.norm(other)
        cell[(axis + 2) % 3] = np.cross(along, cell[(axis + 1) % 3])
    else:
        cell = np.eye(3)
    return cell


def random_rotation(seed):
    """A rotation matrix from the uniform distribution."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def restricted_rotation(cell):
    """The rotation that takes the first lattice vector to +x and the second into the xy plane,
    y > 0: the frame that LAMMPS computes in. Identity where the cell has that form already."""
    if np.all(np.triu(cell, 1) == 0) and np.all(np.diag(cell) > 0):
        return np.eye(3)
    x = cell[0] / np.linalg.norm(cell[0])
    z = np.cross(cell[0], cell[1])
    z = z / np.linalg.norm(z)
    return np.array([x, np.cross(z, x), z])


def read_case(path):
    """The structure of a case file and its reference (None without an energy)."""
    with open(path) as stream:
        case = json.load(stream)
    cell = np.array(case["cell"], dtype=float)
    if np.linalg.det(cell) < 0:
        raise SystemExit(
            f"{path}: cell: got a left-handed cell, expected a right-handed one "
            "(exchange two lattice vectors)"
        )
    structure = Structure(
        list(case["symbols"]),
        np.array(case["positions"], dtype=float),
        cell,
        tuple(bool(p) for p in case.get("pbc", [True] * 3)),
        charges=tuple(float(charge) for charge in case.get("charges", ())),
    )
    if "energy" not in case:
        return structure, None
    stress = np.array(case.get("stress", np.full((3, 3), np.nan)), dtype=float)
    energies = np.array(case.get("energies", np.full(len(structure), np.nan)), dtype=float)
    return structure, Reference(
        float(case["energy"]),
        energies.reshape(-1),
        np.array(case["forces"], dtype=float),
        -stress.reshape(3, 3) * structure.volume,
    )


def to_restricted_frame(structure):
    """The structure as LAMMPS stores it: turned about the corner of its box."""
    rotation = restricted_rotation(structure.cell)
    cell = structure.cell @ rotation.T
    cell[np.triu_indices(3, 1)] = 0.0
    corner = structure.origin
    return replace(
        structure, cell=cell, positions=(structure.positions - corner) @ rotation.T + corner
    )


def write_data(path, structure, ids=None, types=None, masses=None, scale=1.0):
    """Write a LAMMPS data file. A cell that is not in LAMMPS's restricted frame is written with
    general vectors, which LAMMPS turns itself; not so where the first vector lies along x, because
    LAMMPS gets its axis of rotation from the cross product of the two. `scale` converts Angstrom
    to LAMMPS's length."""
    first = structure.cell[0] / np.linalg.norm(structure.cell[0])
    if np.linalg.norm(np.cross(first, [1.0, 0.0, 0.0])) < 1e-6:
        structure = to_restricted_frame(structure)
    species = structure.species
    types = types or [species.index(symbol) + 1 for symbol in structure.symbols]
    ids = ids if ids is not None else range(1, len(structure) + 1)
    masses = masses or [ATOMIC_MASSES[symbol] for symbol in species]
    cell, origin = structure.cell * scale, structure.origin * scale

    def numbers(values):
        return " ".join(f"{value:.17g}" for value in values)

    lines = ["LAMMPS data file", "", f"{len(structure)} atoms", f"{len(masses)} atom types", ""]
    if np.all(restricted_rotation(cell) == np.eye(3)):
        for axis, name in enumerate("xyz"):
            lines.append(
                f"{numbers([origin[axis], origin[axis] + cell[axis, axis]])} {name}lo {name}hi"
            )
        if np.any(np.tril(cell, -1) != 0):
            lines.append(f"{numbers([cell[1, 0], cell[2, 0], cell[2, 1]])} xy xz yz")
    else:
        lines += [
            f"{numbers(cell[axis])} {name}" for axis, name in enumerate(("avec", "bvec", "cvec"))
        ]
        lines.append(f"{numbers(origin)} abc origin")
    lines += ["", "Masses", ""] + [f"{k + 1} {mass:.17g}" for k, mass in enumerate(masses)]
    lines += ["", f"Atoms # {structure.atom_style}", ""]
    charges = [f" {charge:.17g}" for charge in structure.charges] or [""] * len(structure)
    lines += [
        f"{tag} {kind}{charge} {numbers(x * scale)}"
        for tag, kind, charge, x in zip(ids, types, charges, structure.positions)
    ]
    with open(path, "w") as stream:
        stream.write("\n".join(lines) + "\n")
