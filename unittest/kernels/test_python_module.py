# SPDX-License-Identifier: GPL-2.0-only
"""The Python module nvalchemi_lmp: its verbs, whole and in parts, eager and scripted."""

import io
import tomllib
import unittest

import torch
from checkout import REPOSITORY

# isort: split
import nvalchemi_lmp
from nvalchemi_lmp import decompose, run_in_parts

torch.set_num_threads(1)


class ToLocal(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        return nvalchemi_lmp.to_local(x)


class RefreshNeighbors(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        return nvalchemi_lmp.refresh_neighbors(x)


class ScatterToOwners(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        return nvalchemi_lmp.scatter_to_owners(x)


class SystemSum(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        return nvalchemi_lmp.system_sum(x, index, 2)


class LocalSystemSum(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        return nvalchemi_lmp.system_sum(x, index, 2, nvalchemi_lmp.Scope.LOCAL)


class AutogradTarget(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        return nvalchemi_lmp.autograd_target(x)


class CurrentContext(torch.nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor):
        context = nvalchemi_lmp.current_dd_context()
        numbers = [context.rank, context.world_size, context.n_owned, context.n_padded]
        return torch.tensor([int(context.is_distributed)] + numbers)


def saved_and_loaded(module):
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(module.eval()), file)
    file.seek(0)
    return torch.jit.load(file)


# rank 0:  a b | c'      rank 1:  c | b' a'      rank 2:  nothing
THREE_ATOMS = [
    nvalchemi_lmp.Part(torch.tensor([0, 1, 2]), 2, [(1, 0)], None, None, None),
    nvalchemi_lmp.Part(torch.tensor([2, 1, 0]), 1, [(0, 1), (0, 0)], None, None, None),
    nvalchemi_lmp.Part(torch.tensor([], dtype=torch.int64), 0, [], None, None, None),
]
ROWS = [torch.tensor([1.0, 2.0, 30.0]), torch.tensor([3.0, 20.0, 10.0]), torch.tensor([])]
SYSTEMS = [torch.tensor([0, 1, 7]), torch.tensor([1, 7, 7]), torch.tensor([], dtype=torch.int64)]

# verb: (inert result, results of three ranks), of ROWS and SYSTEMS
EXPECTED = {
    ToLocal: ([1, 2, 30], [[1, 2, 30], [3, 20, 10], []]),
    RefreshNeighbors: ([1, 2, 30], [[1, 2, 3], [3, 2, 1], []]),
    ScatterToOwners: ([1, 2, 30], [[11, 22, 33], [33, 22, 11], []]),
    SystemSum: ([1, 32], [[1, 5], [1, 5], [1, 5]]),
    LocalSystemSum: ([1, 32], [[1, 2], [0, 3], [0, 0]]),
    AutogradTarget: ([1, 2, 30], [[1, 2, 30], [3, 20, 10], []]),
    CurrentContext: ([0, 0, 1, -1, -1], [[1, 0, 3, 2, 3], [1, 1, 3, 1, 3], [1, 2, 3, 0, 0]]),
}


class Verbs(unittest.TestCase):
    def test_are_inert_without_a_decomposition(self):
        index = torch.tensor([0, 1, 1])
        for verb, (expected, _) in EXPECTED.items():
            self.assertEqual(verb()(ROWS[0], index).tolist(), expected, verb)

    def test_give_the_same_scripted_saved_loaded_and_frozen(self):
        index = torch.tensor([0, 1, 1])
        for verb, (expected, _) in EXPECTED.items():
            loaded = saved_and_loaded(verb())
            for module in (loaded, torch.jit.freeze(loaded.eval())):
                for _ in range(4):  # the executor optimises in its first runs
                    self.assertEqual(module(ROWS[0], index).tolist(), expected, verb)

    def test_communicate_in_parts_eager_and_scripted(self):
        for verb, (_, expected) in EXPECTED.items():
            loaded = saved_and_loaded(verb())
            for module in (verb(), loaded, torch.jit.freeze(loaded.eval())):
                results = run_in_parts(
                    THREE_ATOMS, lambda rank, module=module: module(ROWS[rank], SYSTEMS[rank])
                )
                self.assertEqual([result.tolist() for result in results], expected, verb)

    def test_context_has_names(self):
        context = nvalchemi_lmp.current_dd_context()

        self.assertIsInstance(context, nvalchemi_lmp.DDContext)
        self.assertEqual(context, (False, 0, 1, -1, -1))
        self.assertFalse(context.is_distributed)

    def test_errors_name_the_operator_and_what_is_expected(self):
        with self.assertRaisesRegex(RuntimeError, "system_sum: got scope 'all', expected 'owned'"):
            nvalchemi_lmp.system_sum(ROWS[0], SYSTEMS[0], 8, "all")

    def test_have_gradients_and_second_gradients(self):
        x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
        index = torch.tensor([0, 1, 1, 0])

        def function(x):
            y = nvalchemi_lmp.scatter_to_owners(nvalchemi_lmp.refresh_neighbors(x.sin()))
            return nvalchemi_lmp.system_sum(y * y, index, 2).exp()

        self.assertTrue(torch.autograd.gradcheck(function, (x,)))
        self.assertTrue(torch.autograd.gradgradcheck(function, (x,)))

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_give_the_same_on_a_gpu(self):
        rows, index = torch.randn(100, 3), torch.arange(100) % 2
        for verb in EXPECTED:
            for index_type in (torch.int32, torch.int64):
                arguments = rows.clone().requires_grad_(), index.to(index_type)
                on_gpu = rows.cuda().requires_grad_(), index.cuda().to(index_type)
                expected, result = verb()(*arguments), verb()(*on_gpu)

                torch.testing.assert_close(result.cpu(), expected)
                if result.requires_grad:
                    (slope,) = torch.autograd.grad(expected.square().sum(), arguments[:1])
                    (on_gpu_slope,) = torch.autograd.grad(result.square().sum(), on_gpu[:1])
                    torch.testing.assert_close(on_gpu_slope.cpu(), slope)
        with self.assertRaisesRegex(RuntimeError, "got system 1 for an owned row, expected 0 to 0"):
            nvalchemi_lmp.system_sum(rows.cuda(), index.cuda(), 1)
        with self.assertRaisesRegex(RuntimeError, "type Long on cpu, expected shape .* on cuda:0"):
            nvalchemi_lmp.system_sum(rows.cuda(), index, 2)

    def test_have_docstrings(self):
        for name in nvalchemi_lmp.__all__:
            if callable(getattr(nvalchemi_lmp, name)):
                self.assertTrue(getattr(nvalchemi_lmp, name).__doc__, name)

    def test_version_is_that_of_the_package(self):
        project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]

        self.assertEqual(nvalchemi_lmp.__version__, project["version"])


class Network(torch.nn.Module):
    """Two message layers, charges of a given total, and a density that is summed over senders."""

    def __init__(self, refreshes: bool = True):
        super().__init__()
        generator = torch.Generator().manual_seed(4)
        self.refreshes = refreshes
        self.embedding = torch.nn.Parameter(torch.randn(2, 5, generator=generator))
        self.mixing = torch.nn.Parameter(torch.randn(2, 5, 5, generator=generator) / 3)
        self.readout = torch.nn.Parameter(torch.randn(5, generator=generator))

    def forward(
        self,
        species: torch.Tensor,
        edge_vectors: torch.Tensor,
        receiver: torch.Tensor,
        sender: torch.Tensor,
    ):
        weight = torch.exp(-(edge_vectors * edge_vectors).sum(1, keepdim=True))
        h = self.embedding[species]
        for layer in range(2):
            if self.refreshes:
                h = nvalchemi_lmp.refresh_neighbors(h)
            message = (h @ self.mixing[layer])[sender] * weight
            h = torch.tanh(h + torch.zeros_like(h).index_add(0, receiver, message))
        charge = h @ self.readout
        system = torch.zeros_like(species)
        excess = nvalchemi_lmp.system_sum(charge, system, 1)
        count = nvalchemi_lmp.system_sum(torch.ones_like(charge), system, 1)
        charge = nvalchemi_lmp.refresh_neighbors(charge - ((excess - 0.25) / count)[system])
        pair = charge[receiver] * charge[sender] * weight[:, 0]
        density = torch.zeros_like(charge).index_add(0, sender, weight[:, 0])
        density = nvalchemi_lmp.scatter_to_owners(density)
        energies = torch.zeros_like(charge).index_add(0, receiver, pair)
        return energies + torch.sqrt(1.0 + density) + 0.7 * excess * excess / count - 3.0


def random_graph(dtype):
    generator = torch.Generator().manual_seed(1)
    n_atoms, n_edges = 11, 60
    ends = torch.randint(n_atoms, (2, n_edges), generator=generator)
    vectors = torch.randn(n_edges, 3, generator=generator, dtype=torch.float64).to(dtype)
    return torch.arange(n_atoms) % 2, vectors, ends[0], ends[1]


def energy_and_forces(network, graph, part=None):
    """Energy of the atoms of a part, and its share of the forces on all atoms."""
    species, vectors, receiver, sender = graph
    forces = torch.zeros(len(species), 3, dtype=vectors.dtype)
    ends = receiver, sender
    if part is not None:
        species, vectors = species[part.rows], vectors[part.edges]
        ends, receiver, sender = (e[part.edges] for e in ends), part.receiver, part.sender
    vectors = vectors.clone().requires_grad_()
    energies = network(species, vectors, receiver, sender)
    energy = energies[: len(species) if part is None else part.n_owned].sum()
    (slope,) = torch.autograd.grad(energy, vectors)
    atoms_received, atoms_sent = ends
    forces.index_add_(0, atoms_received, slope).index_add_(0, atoms_sent, -slope)
    return energy.detach(), forces


class NetworkInParts(unittest.TestCase):
    def largest_deviation(self, network, dtype, n_ranks, runs=1):
        graph = random_graph(dtype)
        energy, forces = energy_and_forces(network, graph)
        # Unequal parts; of three or four ranks, rank 1 owns nothing.
        owner = torch.tensor([0, 0, 0, 2, 0, 3, 2, 0, 2, 0, 2]).clamp(max=n_ranks - 1)
        parts = decompose(owner, graph[2], graph[3], n_ranks)
        deviation = 0.0
        for _ in range(runs):
            results = run_in_parts(
                parts, lambda rank: energy_and_forces(network, graph, parts[rank])
            )
            in_parts = [sum(values) for values in zip(*results)]
            deviation = max(
                deviation,
                (in_parts[0] - energy).abs().item(),
                (in_parts[1] - forces).abs().max().item(),
            )
        return deviation

    def test_gives_the_energy_and_forces_of_the_whole(self):
        for n_ranks in (1, 2, 3, 4):
            network = Network().double()
            self.assertLess(self.largest_deviation(network, torch.float64, n_ranks), 1e-12)
            self.assertLess(self.largest_deviation(network.float(), torch.float32, n_ranks), 1e-4)

    def test_gives_them_scripted_saved_and_loaded_too(self):
        network = saved_and_loaded(Network().double())
        for module in (network, torch.jit.freeze(network.eval())):
            for n_ranks in (1, 2, 3, 4):
                self.assertLess(self.largest_deviation(module, torch.float64, n_ranks, 4), 1e-12)

    def test_sums_of_constants_are_not_folded_into_a_frozen_model(self):
        class CountRanks(torch.nn.Module):
            def forward(self):
                return torch.ops.nvalchemi_lmp.system_sum(torch.ones(1))

        frozen = torch.jit.freeze(torch.jit.script(CountRanks().eval()))

        self.assertEqual(run_in_parts(THREE_ATOMS, lambda rank: frozen().item()), [3, 3, 3])

    def test_without_the_refresh_of_features_it_does_not(self):
        network = Network(refreshes=False).double()

        self.assertGreater(self.largest_deviation(network, torch.float64, 3), 1e-2)


class RunInParts(unittest.TestCase):
    def test_raises_the_exception_of_the_rank_that_failed_by_itself(self):
        def body(rank):
            if rank == 1:
                raise KeyError("mine")
            nvalchemi_lmp.refresh_neighbors(ROWS[rank])

        with self.assertRaisesRegex(KeyError, "mine"):
            run_in_parts(THREE_ATOMS, body)

    def test_ends_ranks_that_issue_different_exchanges(self):
        verbs = (nvalchemi_lmp.refresh_neighbors, *[nvalchemi_lmp.scatter_to_owners] * 2)

        with self.assertRaisesRegex(RuntimeError, "rank 0 calls forward.* while rank 1 calls rev"):
            run_in_parts(THREE_ATOMS, lambda rank: verbs[rank](ROWS[rank]))

    def test_ends_ranks_that_wait_for_one_that_has_returned(self):
        def body(rank):
            if rank != 2:
                nvalchemi_lmp.refresh_neighbors(ROWS[rank])

        with self.assertRaisesRegex(RuntimeError, "rank 2 returned while rank"):
            run_in_parts(THREE_ATOMS, body)

    def test_refuses_halo_rows_without_owner(self):
        with self.assertRaisesRegex(
            ValueError, "^nvalchemi_lmp.run_in_parts: .*halo row 0 of rank 0: got owner rank 1"
        ):
            run_in_parts(THREE_ATOMS[:1], lambda rank: None)

    def test_refuses_no_parts(self):
        with self.assertRaisesRegex(ValueError, "got 0 ranks, expected at least 1"):
            run_in_parts([], lambda rank: None)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
