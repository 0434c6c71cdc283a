# SPDX-License-Identifier: GPL-2.0-only
"""Point charges in a periodic cell: Ewald's sum, with or without a mesh.

How `alpha` and the largest wave vector follow from a requested accuracy: J. Kolafa, J. W. Perram,
Mol. Simul. 9, 351 (1992), whose estimates LAMMPS's kspace_style ewald uses too. Both depend on the
system through the density of atoms and the mean square of their charges alone.
"""

import math

import torch
from operators import load_operators
from torch import Tensor, nn

load_operators()

# eV Angstrom / e^2, as LAMMPS has it in metal units. The CODATA value of 2022 is 14.3996454...
COULOMB = 14.399645


def real_space_error(alpha, cutoff, density, mean_square_charge):
    """RMS force error, in units of the force between two unit charges 1 Angstrom apart."""
    return 2 * mean_square_charge * math.sqrt(density / cutoff) * math.exp(-((alpha * cutoff) ** 2))


def reciprocal_error(k_max, alpha, density, mean_square_charge):
    reach = k_max / (2 * math.pi)
    return (
        2
        * mean_square_charge
        * alpha
        * math.sqrt(density / (math.pi * reach))
        * math.exp(-((math.pi * reach / alpha) ** 2))
    )


def bisect(function, low, high, bound):
    """The least x in [low, high] for which a falling function is at most `bound`."""
    if function(high) > bound:
        raise ValueError(f"--accuracy: got {bound:g}, which is out of reach; ask for less")
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) <= bound else (middle, high)
    return high


def choose(accuracy, cutoff, density, mean_square_charge):
    """(alpha, k_max): each part has half of the squared error."""
    system = (density, mean_square_charge)
    bound = accuracy / math.sqrt(2)
    alpha = bisect(lambda a: real_space_error(a, cutoff, *system), 1e-3, 30 / cutoff, bound)
    return alpha, bisect(lambda k: reciprocal_error(k, alpha, *system), 1e-3, 60 * alpha, bound)


class Coulomb(nn.Module):
    """What the two sums share: charges, real space, and the shape of the box."""

    def __init__(self, alpha: float, charges: Tensor | None, slab: float):
        super().__init__()
        self.alpha = alpha
        self.slab = slab
        self.by_species = charges is not None
        self.register_buffer("table", torch.zeros(1) if charges is None else charges)
        self.coulomb = COULOMB

    def charges_of(self, data: dict[str, Tensor]) -> Tensor:
        return self.table[data["species"]] if self.by_species else data["charges"]

    def cell_of(self, cell: Tensor) -> Tensor:
        """With the empty space of a slab."""
        if self.slab == 0.0:
            return cell
        return torch.cat([cell[:2], self.slab * cell[2:]])

    def energies(self, data: dict[str, Tensor], reciprocal: Tensor) -> dict[str, Tensor]:
        charges, positions = self.charges_of(data), data["positions"]
        n_owned = int(data["n_owned"])
        real = torch.ops.nvalchemi_lmp.ewald_real_energies(
            data["edge_vectors"], data["edge_index"], charges, self.alpha
        )
        total = real[:n_owned] + reciprocal
        if self.slab != 0.0:
            moments = torch.ops.nvalchemi_lmp.slab_moments(positions, charges)
            total = total + torch.ops.nvalchemi_lmp.slab_energies(
                positions[:n_owned], charges[:n_owned], self.cell_of(data["cell"]), moments
            )
        return {"energies": self.coulomb * total}


class Ewald(nn.Module):
    operators = {
        "ewald_real_energies": {},
        "ewald_structure_factors": {"slice_owned": (0, 1), "all_reduce_sum": (0,)},
        "ewald_reciprocal_energies": {},
    }

    def __init__(self, coulomb: Coulomb, k_max: float):
        super().__init__()
        self.coulomb = coulomb
        self.k_max = k_max

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        charges, positions = self.coulomb.charges_of(data), data["positions"]
        cell = self.coulomb.cell_of(data["cell"])
        setup_cell = self.coulomb.cell_of(data["setup_cell"])
        alpha, n_owned = self.coulomb.alpha, int(data["n_owned"])
        factors = torch.ops.nvalchemi_lmp.ewald_structure_factors(
            positions, charges, cell, setup_cell, self.k_max
        )
        reciprocal = torch.ops.nvalchemi_lmp.ewald_reciprocal_energies(
            positions[:n_owned], charges[:n_owned], cell, setup_cell, factors, alpha, self.k_max
        )
        return self.coulomb.energies(data, reciprocal)


class ParticleMesh(nn.Module):
    operators = {
        "ewald_real_energies": {},
        "pme_spread": {"slice_owned": (0, 1), "all_reduce_sum": (0,)},
        "pme_reciprocal_energies": {},
    }

    def __init__(self, coulomb: Coulomb, spacing: float, order: int):
        super().__init__()
        self.coulomb = coulomb
        self.spacing = spacing
        self.order = order

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        charges, positions = self.coulomb.charges_of(data), data["positions"]
        cell = self.coulomb.cell_of(data["cell"])
        setup_cell = self.coulomb.cell_of(data["setup_cell"])
        alpha, n_owned = self.coulomb.alpha, int(data["n_owned"])
        mesh = torch.ops.nvalchemi_lmp.pme_spread(
            positions, charges, cell, setup_cell, self.spacing, self.order
        )
        reciprocal = torch.ops.nvalchemi_lmp.pme_reciprocal_energies(
            positions[:n_owned], charges[:n_owned], cell, mesh, alpha, self.order
        )
        return self.coulomb.energies(data, reciprocal)


SLAB_OPERATORS = {
    "slab_moments": {"slice_owned": (0, 1), "all_reduce_sum": (0,)},
    "slab_energies": {},
}


def random_charges(density, mean_square_charge, atoms=200, seed=5):
    """Positions, charges and cell of a disordered, neutral system."""
    random = torch.Generator().manual_seed(seed)
    cell = (atoms / density) ** (1 / 3) * torch.eye(3).double()
    positions = torch.rand(atoms, 3, generator=random).double() @ cell
    charges = torch.ones(atoms).double() * math.sqrt(mean_square_charge)
    charges[::2] *= -1
    return positions, charges, cell


def forces_of(energies, positions):
    (gradient,) = torch.autograd.grad(energies.sum(), positions)
    return -gradient


def mesh_error(spacing, order, alpha, system):
    """RMS force error of the mesh on such a system, against a converged sum over wave vectors."""
    positions, charges, cell = system
    positions = positions.clone().requires_grad_(True)
    k_max = 12 * alpha  # exp(-36)
    factors = torch.ops.nvalchemi_lmp.ewald_structure_factors(positions, charges, cell, cell, k_max)
    exact = torch.ops.nvalchemi_lmp.ewald_reciprocal_energies(
        positions, charges, cell, cell, factors, alpha, k_max
    )
    mesh = torch.ops.nvalchemi_lmp.pme_spread(positions, charges, cell, cell, spacing, order)
    found = torch.ops.nvalchemi_lmp.pme_reciprocal_energies(
        positions, charges, cell, mesh, alpha, order
    )
    difference = forces_of(found, positions) - forces_of(exact, positions)
    return difference.square().sum(1).mean().sqrt().item()


def choose_spacing(accuracy, order, alpha, density, mean_square_charge):
    """The widest spacing, in steps of a tenth, whose measured error has half of the squared error
    that is asked for."""
    system = random_charges(density, mean_square_charge)
    bound, spacing = accuracy / math.sqrt(2), 3 / alpha
    while mesh_error(spacing, order, alpha, system) > bound:
        spacing *= 0.9
        if spacing < 0.05:
            raise ValueError(
                f"--accuracy: got {accuracy:g}, which splines of order {order} do not "
                "reach; raise --order or ask for less"
            )
    return spacing
