# SPDX-License-Identifier: GPL-2.0-only
"""A small network of the AIMNet2 kind: convolutions over a table of neighbours, and charges that
are brought to the total charge of the system in every pass.

It is written for one process. Its functions and classes bear the Python names of the `aimnet`
package, so that the preset SPEC_AIMNET2_HALO, which names those, binds to it as it is:

* `aimnet.nbops.mol_sum`: the sum over the atoms of a system;
* `aimnet.modules.aev.ConvSV`: features of neighbours, weighted by a radial basis and by directions;
* `aimnet.modules.lr.LRCoulomb` and `SRCoulomb`: energies of charges that respond.

What is smaller than in AIMNet2 are the sizes; what is different: charges are equilibrated without
the small constant in the denominator, so that their sum is the total charge to rounding, cutoff
functions are smooth, and a steep pair term keeps atoms apart, since the weights are random.
"""

import math

import torch
from torch import Tensor, nn

COULOMB = 14.399645478  # eV Angstrom / e^2
CHARGE_CHANNELS = 2  # of a pass: the charge before equilibration, and its share of what is missing


def smooth_cutoff(d: Tensor, cutoff: float) -> Tensor:
    """1 at d = 0, and zero with all its derivatives at the cutoff and beyond."""
    x = (d / cutoff).clamp(max=1.0 - 1e-6)
    return torch.exp(1.0 - 1.0 / (1.0 - x * x))


def of_neighbors(x: Tensor, table: Tensor) -> Tensor:
    """Rows of x (rows, ...) for each slot of the table: (rows, slots, ...)."""
    return x.index_select(0, table.flatten()).unflatten(0, [table.size(0), table.size(1)])


def mol_sum(x: Tensor, data: dict[str, Tensor]) -> Tensor:
    """(systems, width) sums of x (rows, width) over the rows of each system."""
    index = data["mol_idx"]
    systems = int(index[-1].item()) + 1
    total = torch.zeros([systems, x.size(1)], dtype=x.dtype, device=x.device)
    return total.index_add(0, index, x)


def equilibrated(
    total_charge: Tensor, q: Tensor, weight: Tensor, data: dict[str, Tensor]
) -> Tensor:
    """q + weight / sum(weight) * (total_charge - sum(q)): charges that add up to the total one."""
    sums = mol_sum(torch.cat([q, weight], dim=1), data)  # (systems, 2): one reduction for both
    missing = total_charge.reshape(-1, 1) - sums[:, :1]
    share = missing / sums[:, 1:]
    return q + weight * share.index_select(0, data["mol_idx"])


class AEVSV(nn.Module):
    """A radial basis, and its products with the direction to the neighbour."""

    def __init__(self, cutoff: float, shifts: int, smallest: float):
        super().__init__()
        self.cutoff = cutoff
        self.width = ((cutoff - smallest) / shifts) ** -2
        self.register_buffer("shifts", torch.linspace(smallest, cutoff, shifts + 1)[:shifts])

    def forward(self, vector: Tensor, d: Tensor, mask: Tensor) -> Tensor:
        """(rows, slots, shifts, 4)"""
        envelope = (smooth_cutoff(d, self.cutoff) * mask).unsqueeze(-1)
        radial = torch.exp(-self.width * (d.unsqueeze(-1) - self.shifts).square()) * envelope
        direction = vector / d.unsqueeze(-1)
        return torch.cat(
            [radial.unsqueeze(-1), radial.unsqueeze(-1) * direction.unsqueeze(-2)], dim=-1
        )


class ConvSV(nn.Module):
    """Environments of atoms: features of neighbours weighted by the basis, as scalars and as
    lengths of vectors."""

    def __init__(self, channels: int, shifts: int, vectors: int):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(channels, shifts, vectors) / math.sqrt(shifts))

    def forward(self, data: dict[str, Tensor], a: Tensor) -> Tensor:
        """a: (rows, channels, shifts) or (rows, channels); result (rows, features)"""
        near = of_neighbors(a, data["nbmat"])
        if near.dim() == 3:
            near = near.unsqueeze(-1)
        sums = torch.einsum(
            "nmag,nmgd->nagd", near.expand(-1, -1, -1, self.mix.size(1)), data["g_sv"]
        )
        vectors = torch.einsum("agh,nagd->nahd", self.mix, sums[..., 1:])
        return torch.cat([sums[..., 0].flatten(1), vectors.square().sum(-1).flatten(1)], dim=1)


class LRCoulomb(nn.Module):
    """Half of the damped and shifted Coulomb energy with each neighbour, and the self term
    (Fennell and Gezelter, J. Chem. Phys. 124, 234104)."""

    def __init__(self, cutoff: float, alpha: float):
        super().__init__()
        self.cutoff = cutoff
        self.half = 0.5 * COULOMB
        self.alpha = alpha
        self.at_cutoff = math.erfc(alpha * cutoff) / cutoff
        self.slope = (
            self.at_cutoff / cutoff
            + 2.0 * alpha / math.sqrt(math.pi) * math.exp(-((alpha * cutoff) ** 2)) / cutoff
        )

    def forward(self, data: dict[str, Tensor]) -> Tensor:
        q, d = data["charges"], data["d_ij"]
        pair = torch.erfc(self.alpha * d) / d - self.at_cutoff + self.slope * (d - self.cutoff)
        near = of_neighbors(q, data["nbmat"])
        itself = self.at_cutoff + 2.0 * self.alpha / math.sqrt(math.pi)
        sums = (pair * near * data["mask"]).sum(1)
        return self.half * q * (sums - itself * q)


class SRCoulomb(nn.Module):
    """Half of the Coulomb energy with each near neighbour, which the network stands for."""

    def __init__(self, cutoff: float):
        super().__init__()
        self.cutoff = cutoff
        self.half = 0.5 * COULOMB

    def forward(self, data: dict[str, Tensor]) -> Tensor:
        q, d = data["charges"], data["d_ij"]
        pair = smooth_cutoff(d, self.cutoff) / d
        near = of_neighbors(q, data["nbmat"])
        return self.half * q * (pair * near * data["mask"]).sum(1)


def mlp(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in zip(widths[:-1], widths[1:], strict=True):
        layers += [nn.Linear(before, after), nn.GELU()]
    return nn.Sequential(*layers[:-1])


class AIMNet2(nn.Module):
    """Per-atom energies (eV) and charges (e) from tables of neighbours and vectors to them
    (Angstrom). A pass reads features and charges of neighbours and changes both."""

    def __init__(
        self,
        n_species: int,
        cutoff: float,
        reach: float = 5.0,
        passes: int = 3,
        features: int = 4,
        shifts: int = 6,
        vectors: int = 4,
        hidden: int = 32,
        contact: float = 1.7,
    ):
        super().__init__()
        self.cutoff, self.contact, self.passes = cutoff, contact, passes
        self.features, self.shifts = features, shifts
        self.afv = nn.Embedding(n_species, features * shifts)
        self.aev = AEVSV(reach, shifts, 0.8)
        self.conv_a = ConvSV(features, shifts, vectors)
        self.conv_q = ConvSV(1, shifts, vectors)
        of_a = features * (2 * shifts + vectors)
        of_q = 1 + shifts + vectors
        width = features * shifts + CHARGE_CHANNELS
        self.first = mlp(of_a, hidden, width)
        self.middle = nn.ModuleList([mlp(of_a + of_q, hidden, width) for _ in range(passes - 2)])
        self.last = mlp(of_a + of_q, hidden, 1)
        self.lrcoulomb = LRCoulomb(cutoff, 0.3)
        self.srcoulomb = SRCoulomb(0.9 * reach)

    def environment(self, data: dict[str, Tensor], a: Tensor) -> Tensor:
        return torch.cat([a.flatten(1), self.conv_a(data, a)], dim=1)

    def charge_environment(self, data: dict[str, Tensor], q: Tensor) -> Tensor:
        return torch.cat([q, self.conv_q(data, q)], dim=1)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        vector, mask = data["vectors"], data["mask"]
        d = torch.linalg.vector_norm(vector, dim=-1)  # (rows, slots); at the cutoff in empty slots
        data["d_ij"] = d
        data["g_sv"] = self.aev(vector, d, mask)
        a = self.afv(data["numbers"]).unflatten(1, [self.features, self.shifts])
        change = self.first(self.environment(data, a))
        q = equilibrated(data["charge"], change[:, :1], change[:, 1:2].square(), data)
        a = a + change[:, 2:].unflatten(1, [self.features, self.shifts])
        after_passes = [q]
        for layer in self.middle:
            inputs = torch.cat([self.environment(data, a), self.charge_environment(data, q)], dim=1)
            change = layer(inputs)
            q = equilibrated(data["charge"], q + change[:, :1], change[:, 1:2].square(), data)
            a = a + change[:, 2:].unflatten(1, [self.features, self.shifts])
            after_passes.append(q)
        inputs = torch.cat([self.environment(data, a), self.charge_environment(data, q)], dim=1)
        energy = self.last(inputs).squeeze(-1)
        data["charges"] = q.squeeze(-1)
        wall = 0.5 * smooth_cutoff(d, self.aev.cutoff) * mask * (self.contact / d).pow(12)
        energy = energy - self.srcoulomb(data) + self.lrcoulomb(data) + wall.sum(1)
        return {
            "atomic_energies": energy,
            "charges": data["charges"],
            "pass_charges": torch.cat(after_passes, dim=1),
        }


# The names under which TorchScript records them.
mol_sum.__module__ = "aimnet.nbops"
AEVSV.__module__ = ConvSV.__module__ = "aimnet.modules.aev"
LRCoulomb.__module__ = SRCoulomb.__module__ = "aimnet.modules.lr"
AIMNet2.__module__ = "aimnet.models.aimnet2"
