#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fit the small network of example_network.py to an ionic pair potential for NaCl and export it.

The fit takes seconds, starts from a fixed seed and needs nothing but torch and numpy. It is there
so that molecular dynamics with the archive behaves; its accuracy is of no interest. To export a
network of your own, replace `ExampleNetwork` and `fit`, and describe its inputs and outputs in
`network_card`.
"""

try:
    import numpy as np
    import torch
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, neighbor_edges, rattled_rocksalt
    from example_network import ExampleNetwork, smooth_cutoff
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "environment that runs it; 'nvalchemi-export example-network --make-environment' makes one"
    ) from missing

SPECIES = ("Na", "Cl")
CHARGE = torch.tensor([1.0, -1.0], dtype=torch.float64)
COULOMB = 14.3996  # eV Angstrom
DAMPING = 0.3  # 1/Angstrom: screens the charges so that a finite cutoff suffices
REPULSION, RANGE = 2800.0, 0.32  # eV, Angstrom: the crystal is in balance near 5.6 Angstrom


def pair_energies(species, receiver, sender, vectors, cutoff):
    """The target: half of a Born-Mayer and a screened Coulomb term for each directed edge."""
    r = torch.linalg.vector_norm(vectors, dim=-1)
    charges = CHARGE[species][receiver] * CHARGE[species][sender]
    pair = (
        REPULSION * torch.exp(-r / RANGE) + COULOMB * charges * torch.erfc(DAMPING * r) / r
    ) * smooth_cutoff(r, cutoff)
    return torch.zeros(len(species), dtype=r.dtype).index_add(0, receiver, 0.5 * pair)


def training_graph(cutoff, samples=12):
    """Rattled and strained crystals side by side as one graph of unconnected parts."""
    species, edges, vectors, offset = [], [], [], 0
    for k in range(samples):
        size = 1.0 + 0.04 * (k % 4 - 1.5) / 1.5
        atoms = rattled_rocksalt(SPECIES, 5.64 * size, displacement=0.05 + 0.05 * (k % 3), seed=k)
        i, j, _, vector = neighbor_edges(atoms, cutoff)
        species += [SPECIES.index(s) for s in atoms["symbols"]]
        edges.append(np.stack([i, j]) + offset)
        vectors.append(vector)
        offset = len(species)
    return {
        "species": torch.tensor(species),
        "edge_index": torch.tensor(np.concatenate(edges, 1)),
        "edge_vectors": torch.tensor(np.concatenate(vectors)),
    }


def start_at_mean(network, graph, target):
    """Let the readout begin at the mean energy."""
    network.readout[-1].bias.fill_(target.mean().item())


def fit(network, cutoff, steps, output="energy", start=start_at_mean):
    """Fit the energies under key `output` and their edge gradients; returns the loss before and
    after. `start(network, graph, target)` sets what is not left to chance, without gradient."""
    graph = training_graph(cutoff)
    vectors = graph["edge_vectors"].requires_grad_(True)
    target = pair_energies(graph["species"], *graph["edge_index"], vectors, cutoff)
    (slope,) = torch.autograd.grad(target.sum(), vectors)
    target = target.detach()
    with torch.no_grad():
        start(network, graph, target)
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
    losses = []
    for _ in range(steps):
        energy = network(graph)[output]
        (gradient,) = torch.autograd.grad(energy.sum(), vectors, create_graph=True)
        loss = (energy - target).square().mean() + 10.0 * (gradient - slope).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return (losses[0], losses[-1]) if losses else (float("nan"), float("nan"))


def network_card(name, network, dtype_name):
    """The contract: which key of the dictionary carries what."""
    return make_card(
        name=name,
        family="example",
        cutoff=network.cutoff,
        dtype=dtype_name,
        species=SPECIES,
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={"energy": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"}},
        forces="edge_vectors",
        receiver_row=0,
        expected_exchanges=len(network.layers) - 1,
    )


def main(arguments=None):
    options = parser(__doc__, "example_network")
    options.add_argument("--layers", type=int, default=3, help="message-passing layers")
    options.add_argument("--cutoff", type=float, default=5.0, help="Angstrom")
    options.add_argument("--steps", type=int, default=300, help="steps of the fit; 0: random")
    options.add_argument("--seed", type=int, default=1, help="of the initial weights")
    options = options.parse_args(arguments)
    for name, smallest in (("layers", 1), ("cutoff", 3.0), ("steps", 0)):
        if getattr(options, name) < smallest:
            raise ValueError(
                f"--{name}: got {getattr(options, name)}, expected at least {smallest}"
            )
    torch.set_num_threads(1)  # sums of one order on every machine, and faster at this size
    torch.manual_seed(options.seed)
    network = ExampleNetwork(len(SPECIES), options.cutoff, options.layers).double()
    before, after = fit(network, options.cutoff, options.steps)
    print(f"fit: loss {before:.3g} -> {after:.3g} in {options.steps} steps")
    network = network.to(DTYPES[options.dtype]).eval()
    card = network_card(f"example_network_{options.dtype}", network, options.dtype)
    atoms = rattled_rocksalt(SPECIES)
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
