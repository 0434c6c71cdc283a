# SPDX-License-Identifier: GPL-2.0-only
"""Pair potentials whose operator returns energies, forces and virial itself."""

import torch
from operators import load_operators
from torch import Tensor, nn

load_operators()


def labelled(sums: tuple[Tensor, Tensor, Tensor]) -> dict[str, Tensor]:
    return {"energies": sums[0], "forces": sums[1], "virial": sums[2]}


class LennardJones(nn.Module):
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6)."""

    operator = "lj_energy_forces_virial"
    parameters_of_pair = ("epsilon", "sigma")

    def __init__(self, table: Tensor):
        super().__init__()
        self.register_buffer("table", table)  # (parameters + 2, species, species)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        return labelled(
            torch.ops.nvalchemi_lmp.lj_energy_forces_virial(
                data["edge_vectors"], data["edge_index"], data["species"], self.table
            )
        )

    @staticmethod
    def energy(r, epsilon, sigma):
        return 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)


class Buckingham(nn.Module):
    """A exp(-r/rho) - C/r^6."""

    operator = "buckingham_energy_forces_virial"
    parameters_of_pair = ("A", "rho", "C")

    def __init__(self, table: Tensor):
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        return labelled(
            torch.ops.nvalchemi_lmp.buckingham_energy_forces_virial(
                data["edge_vectors"], data["edge_index"], data["species"], self.table
            )
        )

    @staticmethod
    def energy(r, a, rho, c):
        return a * torch.exp(-r / rho) - c / r**6


class Morse(nn.Module):
    """D (exp(-2 alpha (r - r0)) - 2 exp(-alpha (r - r0)))."""

    operator = "morse_energy_forces_virial"
    parameters_of_pair = ("D", "alpha", "r0")

    def __init__(self, table: Tensor):
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        return labelled(
            torch.ops.nvalchemi_lmp.morse_energy_forces_virial(
                data["edge_vectors"], data["edge_index"], data["species"], self.table
            )
        )

    @staticmethod
    def energy(r, depth, alpha, r0):
        decay = torch.exp(-alpha * (r - r0))
        return depth * (decay**2 - 2 * decay)


STYLES = {"lj": LennardJones, "buck": Buckingham, "morse": Morse}
