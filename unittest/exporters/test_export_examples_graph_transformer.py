# SPDX-License-Identifier: GPL-2.0-only
"""The operators of the graph transformer, on a CPU and, where there is one, on a GPU; its exporter
and the archive and specs that lie beside it."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "examples" / "lammps" / "graph_transformer"))

# isort: split
from card import read_archive
from evaluate import check_reference, evaluate, rattled_rocksalt
from export_graph_transformer import fit, main
from graph_transformer import GraphTransformer

FOLDER = REPOSITORY / "examples" / "lammps" / "graph_transformer"
WRONG = ("missing_scatter_outputs", "double_padding", "reduced_twice")


def find_library():
    build = Path(os.environ.get("NVALCHEMI_BUILD_DIR", REPOSITORY / "build"))
    return next(iter(sorted(build.rglob("libfused_message.so"))), None)


LIBRARY = find_library()
if LIBRARY is None:
    if __name__ == "__main__":
        print("SKIPPED: libfused_message.so not found; build the tests")
        raise SystemExit(77)
    raise unittest.SkipTest("libfused_message.so not found; build the tests")
torch.ops.load_library(str(LIBRARY))
push, pool = torch.ops.fused_message.push, torch.ops.fused_message.pool
torch.set_num_threads(1)


def arguments(rows=5, edges=17, dtype=torch.float64, device="cpu", heads=2, depth=3):
    generator = torch.Generator().manual_seed(3)

    def real(*shape):
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return values.to(dtype).to(device).requires_grad_(True)

    def index():
        return torch.randint(max(rows, 1), (edges,), generator=generator).to(device)

    query, key_value, edge = (
        real(rows, heads, depth),
        real(rows, 2, heads, depth),
        real(edges, heads),
    )
    return query, key_value, index(), index(), edge


def push_plainly(query, key_value, receiver, sender, edge):
    """The same from torch's own operators."""
    score = (query[sender] * key_value[receiver, 0]).sum(-1) / query.size(2) ** 0.5
    message = (score.sigmoid() * edge).unsqueeze(-1) * key_value[receiver, 1]
    return torch.zeros_like(query).index_add(0, sender, message)


def with_gradients(function, given):
    weights = torch.arange(given[0].numel(), dtype=torch.float64).cos().reshape(given[0].shape)
    result = function(*given)
    loss = (result * weights.to(result)).sum()
    return result, *torch.autograd.grad(loss, [given[0], given[1], given[4]])


class Operators(unittest.TestCase):
    device = "cpu"

    def test_push_and_its_gradients_equal_the_plain_form(self):
        for dtype, bar in ((torch.float64, 1e-13), (torch.float32, 1e-5)):
            for rows, edges in ((5, 17), (300, 5000), (3, 1)):
                given = arguments(rows, edges, dtype, self.device)
                fused, plain = (with_gradients(f, given) for f in (push, push_plainly))
                for one, other in zip(fused, plain):
                    scale = other.abs().max().item()
                    self.assertEqual(one.dtype, dtype)
                    self.assertLess((one - other).abs().max().item(), bar * max(scale, 1.0))

    def test_gradients_of_first_and_second_order_are_slopes(self):
        given = arguments(device=self.device)

        self.assertTrue(torch.autograd.gradcheck(push, given))
        # torch sums by atomics on a GPU: not in one order
        self.assertTrue(torch.autograd.gradgradcheck(push, given, nondet_tol=1e-12))
        self.assertTrue(torch.autograd.gradcheck(pool, given[:1]))

    def test_equal_inputs_give_equal_bits(self):
        given = arguments(200, 3000, torch.float32, self.device)
        for one, other in zip(with_gradients(push, given), with_gradients(push, given)):
            self.assertTrue(torch.equal(one, other))

    def test_takes_no_edges_and_no_rows(self):
        for rows in (4, 0):
            result, *gradients = with_gradients(push, arguments(rows, 0, device=self.device))

            self.assertEqual(result.shape, (rows, 2, 3))
            self.assertEqual(sum(float(g.abs().sum()) for g in (result, *gradients)), 0.0)
        self.assertEqual(pool(torch.ones(0, 2, device=self.device)).tolist(), [0.0, 0.0])

    def test_takes_views(self):
        query, key_value, receiver, sender, edge = arguments(device=self.device)
        strided = (
            query.transpose(0, 2).contiguous().transpose(0, 2),
            key_value.flip(0).flip(0),
            torch.stack([receiver, sender], 1)[:, 0],
            sender,
            torch.cat([edge, edge], 1)[:, :2],
        )
        difference = push(*strided) - push(query, key_value, receiver, sender, edge)
        self.assertEqual(difference.abs().max().item(), 0.0)

    def test_refuses_what_does_not_fit(self):
        q, kv, i, j, e = arguments(device=self.device)
        for given, text in (
            ((q[0], kv, i, j, e), r"query: got shape \[2, 3\], expected \(rows, heads, depth\)"),
            ((q, kv[:1], i, j, e), r"key_value: got shape \[1, 2, 2, 3\], expected \(5, 2, 2, 3\)"),
            ((q, kv, i, j, e[:, :1]), r"edge: got shape \[17, 1\], expected \(edges, 2\)"),
            ((q, kv.float(), i, j, e), "got Float on .*, expected Double"),
            ((q, kv, i[1:], j, e), r"receiver: got shape \[16\] of Long on .*, expected \(17\)"),
            ((q, kv, i, j.int(), e), r"sender: got shape \[17\] of Int on"),
        ):
            with self.assertRaisesRegex(RuntimeError, f"fused_message::push: {text}"):
                push(*given)


class RowsOutOfRange(unittest.TestCase):
    def test_are_refused_on_a_cpu(self):
        q, kv, i, j, e = arguments()
        with self.assertRaisesRegex(RuntimeError, "sender: got row 10, expected one of the 5 rows"):
            push(q, kv, i, j * 0 + 10, e)
        with self.assertRaisesRegex(RuntimeError, "receiver: got row -1, expected one of the 5"):
            push(q, kv, i * 0 - 1, j, e)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class OperatorsOnGpu(Operators):
    device = "cuda"

    def test_network_gives_the_numbers_of_the_cpu(self):
        torch.manual_seed(2)
        network = GraphTransformer(2, 5.0).double()
        data = {
            "species": torch.tensor([0, 1, 1, 0]),
            "edge_index": torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]]),
            "edge_vectors": torch.randn(5, 3, dtype=torch.float64) * 2.0,
        }
        on_cpu = network(data)["atomic_energies"]
        on_gpu = network.cuda()({key: value.cuda() for key, value in data.items()})
        difference = on_gpu["atomic_energies"].cpu() - on_cpu
        self.assertLess(difference.abs().max().item(), 1e-12)


def export(folder, *words):
    path = str(Path(folder) / "model.pt")
    main(["--ops", str(LIBRARY), "--output", path, *words])
    return read_archive(path)


def spec(name):
    return json.loads((FOLDER / f"{name}.spec.json").read_text())


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_fit_lowers_the_loss_tenfold(self):
        torch.manual_seed(1)

        before, after = fit(GraphTransformer(2, 5.0).double(), 5.0, steps=150)

        self.assertLess(after, before / 10)

    def test_archive_reproduces_its_reference_in_both_precisions(self):
        for dtype in ("float64", "float32"):
            module, card = export(self.folder, "--dtype", dtype, "--steps", "5")

            self.assertEqual({p.dtype for p in module.parameters()}, {getattr(torch, dtype)})
            check_reference(module, card)

    def test_archive_beside_the_exporter_comes_from_it(self):
        path = FOLDER / "graph_transformer.pt"
        module, card = read_archive(str(path))
        fresh_module, fresh_card = export(self.folder, "--steps", "0")

        check_reference(module, card)
        self.assertEqual(module.code, fresh_module.code)
        self.assertEqual(module.first.code, fresh_module.first.code)
        del card["reference"], fresh_card["reference"]
        self.assertEqual(card, fresh_card)
        self.assertLess(path.stat().st_size, 200_000)

    def test_card_names_the_library_and_holds_the_spec(self):
        _, card = read_archive(str(FOLDER / "graph_transformer.pt"))

        self.assertEqual(card["ops"], ["libfused_message.so"])
        self.assertEqual(card["spec"], spec("graph_transformer"))

    def test_wrong_specs_differ_in_one_thing(self):
        right = spec("graph_transformer")
        missing, padded, twice = (spec(name) for name in WRONG)
        push_of = "core", "custom_ops", 0

        def adapter(document):
            for key in push_of:
                document = document[key]
            return document

        self.assertEqual(adapter(missing).pop("output_transforms"), {})
        missing["core"]["custom_ops"][0]["output_transforms"] = {"0": {"type": "scatter_outputs"}}
        self.assertEqual(adapter(padded)["arg_transforms"].pop("0"), {"type": "gather_inputs"})
        self.assertEqual(twice["all_reduce_outputs"].pop(), "electronegativity")
        for mended in (missing, padded, twice):
            self.assertEqual(mended, right)

    def test_forces_of_the_archive_are_the_slope_of_its_energy(self):
        module, card = read_archive(str(FOLDER / "graph_transformer.pt"))
        atoms = rattled_rocksalt()
        forces, h = evaluate(module, card, atoms)["forces"], 1e-4

        energies = {}
        for k in (-2, -1, 1, 2):
            moved = np.array(atoms["positions"])
            moved[3, 1] += k * h
            energies[k] = evaluate(module, card, dict(atoms, positions=moved.tolist()))["energy"]
        slope = (8 * (energies[1] - energies[-1]) - energies[2] + energies[-2]) / 12 / h

        self.assertAlmostEqual(-slope, forces[3, 1], delta=1e-9)

    def test_neighbour_at_the_cutoff_changes_neither_energy_nor_forces(self):
        module, card = read_archive(str(FOLDER / "graph_transformer.pt"))
        apart = np.array([[0.0, 0.0, 0.0], [2.8, 0.0, 0.0], [0.0, card["cutoff"], 0.0]])
        atoms = {
            "symbols": ["Na", "Cl", "Cl"],
            "cell": (30 * np.eye(3)).tolist(),
            "pbc": [False] * 3,
        }
        inside, outside = (
            evaluate(module, card, dict(atoms, positions=(apart * [1, scale, 1]).tolist()))
            for scale in (1 - 1e-6, 1 + 1e-6)
        )
        self.assertAlmostEqual(inside["energy"], outside["energy"], delta=1e-12)
        self.assertLess(np.abs(inside["forces"] - outside["forces"]).max(), 1e-9)

    def test_refuses_a_library_that_is_not_there(self):
        with self.assertRaisesRegex(ValueError, "--ops: /no/such.so does not exist"):
            main(["--ops", "/no/such.so"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
