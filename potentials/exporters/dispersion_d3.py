# SPDX-License-Identifier: GPL-2.0-only
"""Grimme's DFT-D3 dispersion energy, two-body terms, as a network of one message layer.

S. Grimme, J. Antony, S. Ehrlich, H. Krieg, J. Chem. Phys. 132, 154104 (2010), and with
Becke-Johnson damping S. Grimme, S. Ehrlich, L. Goerigk, J. Comput. Chem. 32, 1456 (2011).

Coordination numbers are sums over an atom's edges, and C6 coefficients read those of both ends. So
coordination numbers are what travels between ranks, and no halo deeper than the cutoff is needed.

In bohr and Hartree inside; edge vectors in Angstrom, energies in eV outside.
"""

import torch
from operators import load_operators
from torch import Tensor, nn


def switch(r: Tensor, cutoff: float) -> Tensor:
    """1 up to one bohr below the cutoff, 0 from it on, a polynomial of degree 5 between: the
    smoothing "poly" of torch-dftd, twice differentiable everywhere."""
    x = (cutoff - r).clamp(0.0, 1.0)
    return x.pow(3) * (10.0 + x * (6.0 * x - 15.0))


class RationalDamping(nn.Module):
    """1 / (r^n + (a1 sqrt(C8/C6) + a2)^n) for n = 6 and 8: Becke-Johnson.

    `numbers` of each damping are those that the operator d3_energies takes."""

    numbers: list[float]

    def __init__(self, r2r4: Tensor, a1: float, a2: float):
        super().__init__()
        self.numbers = []
        # C8/C6 of a pair is 3 <r2r4> <r2r4>, without its C6: (species, species), bohr
        self.register_buffer("radius", a1 * torch.sqrt(3.0 * r2r4[:, None] * r2r4) + a2)

    def forward(self, r: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        radius = self.radius[first, second]
        return 1.0 / (r.pow(6) + radius.pow(6)), 1.0 / (r.pow(8) + radius.pow(8))


class ZeroDamping(nn.Module):
    """1 / (r^n (1 + 6 x_n^-alpha_n)) with x_n = r / (scale_n r0) + shift r0, for n = 6 and 8.

    shift is 0 in the original form, and scale8 is 1 in the modified one of D. G. A. Smith et al.,
    J. Phys. Chem. Lett. 7, 2197 (2016)."""

    numbers: list[float]

    def __init__(self, r0: Tensor, scale6: float, scale8: float, shift: float, alpha: float):
        super().__init__()
        self.register_buffer("radius", r0)  # (species, species), bohr
        self.scale6, self.scale8, self.shift, self.alpha = scale6, scale8, shift, alpha
        self.numbers = [float(x) for x in (scale6, scale8, shift, alpha)]

    def forward(self, r: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        radius = self.radius[first, second]
        x6 = r / (self.scale6 * radius) + self.shift * radius
        x8 = r / (self.scale8 * radius) + self.shift * radius
        damped6 = r.pow(6) * (1.0 + 6.0 * x6.pow(-self.alpha))
        damped8 = r.pow(8) * (1.0 + 6.0 * x8.pow(-self.alpha - 2.0))
        return 1.0 / damped6, 1.0 / damped8


class DispersionD3(nn.Module):
    """Dispersion energies of atoms. `tables` holds, in atomic units:

    c6            (species, species, references, references), 0 where there is no reference
    reference_cn  (species, references): coordination numbers of the reference systems
    has_reference (species, references), boolean
    rcov          (species): covalent radii, scaled as the counting function takes them
    r2r4          (species): the square root of <r4>/<r2>
    """

    def __init__(
        self,
        tables: dict[str, Tensor],
        damping: nn.Module,
        s6: float,
        s8: float,
        cutoff: float,
        cn_cutoff: float,
        bohr: float,
        hartree: float,
    ):
        super().__init__()
        self.count_steepness, self.weight_steepness = 16.0, 4.0  # k1 and -k3 of the method
        for name, table in tables.items():
            self.register_buffer(name, table)
        self.damping = damping
        self.s6, self.s8 = s6, s8
        self.cutoff, self.cn_cutoff = cutoff / bohr, cn_cutoff / bohr
        self.bohr, self.hartree = bohr, hartree

    def reference_weights(self, species: Tensor, cn: Tensor) -> Tensor:
        """(rows, references): how much of each reference system an atom is."""
        exponent = -self.weight_steepness * (cn.unsqueeze(-1) - self.reference_cn[species]).square()
        exponent = exponent.masked_fill(~self.has_reference[species], -1e20)
        return torch.softmax(exponent, dim=-1)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        species = data["species"]
        receiver, sender = data["edge_index"][0], data["edge_index"][1]
        first, second = species[receiver], species[sender]
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1) / self.bohr

        ratio = (self.rcov[first] + self.rcov[second]) / r
        count = torch.sigmoid(self.count_steepness * (ratio - 1.0)) * switch(r, self.cn_cutoff)
        none = torch.zeros(species.size(0), dtype=r.dtype, device=r.device)
        cn = none.index_add(0, receiver, count)

        weights = self.reference_weights(species, cn)
        pairs = torch.bmm(weights[receiver].unsqueeze(1), self.c6[first, second])
        c6 = torch.bmm(pairs, weights[sender].unsqueeze(2)).flatten()
        c8 = 3.0 * c6 * self.r2r4[first] * self.r2r4[second]
        damped6, damped8 = self.damping(r, first, second)
        pair = -(self.s6 * c6 * damped6 + self.s8 * c8 * damped8) * switch(r, self.cutoff)
        # each pair is two edges
        energies = none.index_add(0, receiver, 0.5 * self.hartree * pair)
        return {"atomic_energies": energies, "coordination_numbers": cn}


class FusedDispersionD3(DispersionD3):
    """The same by this package's operators, which keep no number of an edge in memory."""

    operators = ("d3_coordination_numbers", "d3_energies")

    def __init__(self, *settings):
        super().__init__(*settings)
        try:
            load_operators()
        except ImportError as error:
            raise ImportError(
                f"{error}; --no-fused exports without this package's operators"
            ) from error

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        vectors, edges, species = data["edge_vectors"], data["edge_index"], data["species"]
        cn = torch.ops.nvalchemi_lmp.d3_coordination_numbers(
            vectors, edges, species, self.rcov, self.count_steepness, self.cn_cutoff, self.bohr
        )
        energies = torch.ops.nvalchemi_lmp.d3_energies(
            vectors,
            edges,
            species,
            cn,
            self.c6,
            self.reference_cn,
            self.has_reference,
            self.r2r4,
            self.damping.radius,
            self.weight_steepness,
            self.s6,
            self.s8,
            self.damping.numbers,
            self.cutoff,
            self.bohr,
        )
        return {"atomic_energies": self.hartree * energies, "coordination_numbers": cn}
