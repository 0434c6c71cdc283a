# SPDX-License-Identifier: GPL-2.0-only
"""A Behler-Parrinello potential in plain PyTorch: symmetry functions of each atom's surroundings,
and a small network for each element. It is written for one process and knows nothing about ranks.

Angular symmetry functions are sums over pairs of neighbours. They are not evaluated pair by pair:
an integer power of a cosine is a polynomial in the two unit vectors, so that the sum over pairs is
a product of two sums over single neighbours,

    sum over j, k of u_j u_k (n_j . n_k)^p  =  sum over a + b + c = p of p!/(a! b! c!) M_abc M_abc,
    M_abc = sum over j of u_j x^a y^b z^c                              (n = (x, y, z), length 1).

That is exact, linear in the number of neighbours, and needs no list of triplets. All sums are over
edges into their receiver.
"""

import math

import torch
from torch import Tensor, nn

HIGHEST = 4  # largest power of a cosine


def smooth_cutoff(r: Tensor, cutoff: float) -> Tensor:
    """1 at r = 0, and zero with zero slope and curvature at the cutoff."""
    return (1.0 - (r / cutoff).square()).clamp(min=0.0).pow(3)


def monomials():
    """Exponents (a, b, c) with a + b + c <= HIGHEST."""
    powers = range(HIGHEST + 1)
    return [(a, b, c) for a in powers for b in powers for c in powers if a + b + c <= HIGHEST]


def angular_coefficients(sign, zeta):
    """2^(1 - zeta) (1 + sign cos)^zeta as a combination of the products of monomials."""
    coefficients = []
    for exponents in monomials():
        p = sum(exponents)
        orderings = math.factorial(p) // math.prod(math.factorial(e) for e in exponents)
        coefficients.append(2.0 ** (1 - zeta) * math.comb(zeta, p) * sign**p * orderings)
    return coefficients


class SymmetryFunctions(nn.Module):
    """Radial and angular functions (rows, count) of every element, or pair of elements, around each
    atom. Radial: sum of exp(-eta (r - shift)^2) fc(r). Angular, for each pair of neighbours j, k:
    2^(1 - zeta) (1 + sign cos)^zeta exp(-eta (r_j^2 + r_k^2)) fc(r_j) fc(r_k)."""

    def __init__(
        self,
        n_species: int,
        cutoff: float,
        shifts=(2.0, 2.6, 3.2, 3.8, 4.4),
        radial_eta: float = 3.0,
        angular_etas=(0.02, 0.15),
        angles=((1.0, 1), (-1.0, 1), (1.0, 4), (-1.0, 4)),
    ):
        super().__init__()
        self.n_species, self.cutoff, self.radial_eta = n_species, cutoff, radial_eta
        self.highest = HIGHEST
        pairs = [(b, c) for b in range(n_species) for c in range(b, n_species)]
        self.count = n_species * len(shifts) + len(pairs) * len(angular_etas) * len(angles)
        x, y, z = torch.tensor(monomials()).T
        self.register_buffer("power_x", x)
        self.register_buffer("power_y", y)
        self.register_buffer("power_z", z)
        coefficients = [angular_coefficients(sign, zeta) for sign, zeta in angles]
        straight = [2.0 if sign > 0 else 0.0 for sign, _ in angles]
        for name, values in (
            ("shifts", shifts),
            ("etas", angular_etas),
            ("angles", list(zip(*coefficients, strict=True))),
            ("straight", straight),
        ):
            self.register_buffer(name, torch.tensor(values))
        self.register_buffer("pair_first", torch.tensor([b for b, _ in pairs]))
        self.register_buffer("pair_second", torch.tensor([c for _, c in pairs]))

    def forward(self, species: Tensor, edge_index: Tensor, vectors: Tensor) -> Tensor:
        receiver, sender = edge_index[0], edge_index[1]
        n = species.size(0)
        r = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)  # (edges, 1)
        element = nn.functional.one_hot(species, self.n_species).to(r.dtype)[sender]
        weight = element * smooth_cutoff(r, self.cutoff)  # (edges, elements)

        radial = torch.exp(-self.radial_eta * (r - self.shifts).square())
        radial = (weight.unsqueeze(2) * radial.unsqueeze(1)).flatten(1)
        radial = torch.zeros([n, radial.size(1)], dtype=r.dtype, device=r.device).index_add(
            0, receiver, radial
        )

        decay = weight.unsqueeze(2) * torch.exp(-self.etas * r.square()).unsqueeze(1)
        moments = decay.unsqueeze(3) * self.unit_monomials(vectors / r)[:, None, None, :]
        same = torch.cat([moments.flatten(1), decay.square().flatten(1)], 1)
        sums = torch.zeros([n, same.size(1)], dtype=r.dtype, device=r.device).index_add(
            0, receiver, same
        )
        return torch.cat([radial, self.angular(sums)], dim=1)

    def unit_monomials(self, unit: Tensor) -> Tensor:
        """x^a y^b z^c (edges, monomials) of unit vectors."""
        power = torch.ones_like(unit)
        powers = [power]
        for _ in range(self.highest):
            power = power * unit
            powers.append(power)
        table = torch.stack(powers, 2)  # (edges, 3, powers)
        x = table[:, 0].index_select(1, self.power_x)
        y = table[:, 1].index_select(1, self.power_y)
        return x * y * table[:, 2].index_select(1, self.power_z)

    def angular(self, sums: Tensor) -> Tensor:
        """From sums over neighbours to sums over pairs of neighbours, each pair once."""
        widths = [self.n_species, self.etas.size(0), self.power_x.size(0)]
        split = widths[0] * widths[1] * widths[2]
        moments = sums[:, :split].unflatten(1, widths)
        squares = sums[:, split:].unflatten(1, widths[:2])  # what j = k adds, along `straight`
        products = moments.index_select(1, self.pair_first) * moments.index_select(
            1, self.pair_second
        )
        pairs = products @ self.angles  # (rows, pairs, etas, angles)
        like = (self.pair_first == self.pair_second).to(sums.dtype)[:, None, None]
        alone = squares.index_select(1, self.pair_first).unsqueeze(3) * self.straight
        return (pairs * (1.0 - like) + 0.5 * like * (pairs - alone)).flatten(1)


class BehlerParrinello(nn.Module):
    """Per-atom energies (eV) from species, edges and edge vectors (Angstrom)."""

    def __init__(self, n_species: int, cutoff: float, width: int = 12, contact: float = 1.6):
        super().__init__()
        self.cutoff, self.contact = cutoff, contact
        self.functions = SymmetryFunctions(n_species, cutoff)
        self.register_buffer("mean", torch.zeros(self.functions.count))
        self.register_buffer("spread", torch.ones(self.functions.count))
        self.networks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(self.functions.count, width),
                nn.Tanh(),
                nn.Linear(width, width),
                nn.Tanh(),
                nn.Linear(width, 1),
            )
            for _ in range(n_species)
        )

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        species, vectors = data["species"], data["edge_vectors"]
        features = self.functions(species, data["edge_index"], vectors)
        features = (features - self.mean) / self.spread
        energy = torch.zeros_like(features[:, 0])
        for element, network in enumerate(self.networks):
            chosen = species == element
            energy[chosen] = network(features[chosen]).squeeze(-1)
        # Half of a steep pair term for each directed edge keeps atoms apart at distances that
        # no fit has seen.
        r = torch.linalg.vector_norm(vectors, dim=-1)
        wall = 0.5 * smooth_cutoff(r, self.cutoff) * (self.contact / r).pow(12)
        return {"atomic_energies": energy.index_add(0, data["edge_index"][0], wall)}
