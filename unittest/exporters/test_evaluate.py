# SPDX-License-Identifier: GPL-2.0-only
import unittest

import numpy as np
import torch
from support import PairPotential, pair_card

# isort: split
from card import make_card
from evaluate import (
    add_reference,
    check_reference,
    evaluate,
    neighbor_edges,
    rattled_rocksalt,
    structure,
)

try:
    from matscipy.neighbours import neighbour_list
except ImportError:
    neighbour_list = None


def edge_rows(i, j, shift):
    """Edges as a sorted array of (receiver, sender, shift) rows."""
    return sorted(map(tuple, np.column_stack([i, j, shift]).tolist()))


class NeighborEdges(unittest.TestCase):
    def test_dimer_has_one_edge_in_each_direction(self):
        atoms = structure("AB", [[0, 0, 0], [1.5, 0, 0]], np.eye(3) * 20, (False,) * 3)

        i, j, shift, vector = neighbor_edges(atoms, 2.0)

        self.assertEqual((i.tolist(), j.tolist()), ([0, 1], [1, 0]))
        self.assertEqual(vector.tolist(), [[1.5, 0, 0], [-1.5, 0, 0]])
        self.assertFalse(shift.any())

    def test_single_atom_sees_its_own_images_but_not_itself(self):
        atoms = structure("A", [[0.3, 0, 0]], np.eye(3) * 2.0)

        i, j, _, vector = neighbor_edges(atoms, 2.5)

        self.assertEqual(len(i), 6)
        self.assertEqual(set(i) | set(j), {0})
        np.testing.assert_allclose(np.linalg.norm(vector, axis=1), 2.0)

    def test_open_direction_has_no_images(self):
        atoms = structure("A", [[0, 0, 0]], np.eye(3) * 2.0, (True, False, False))

        self.assertEqual(len(neighbor_edges(atoms, 2.5)[0]), 2)

    @unittest.skipIf(neighbour_list is None, "matscipy is not installed")
    def test_agrees_with_matscipy_on_skewed_cells_and_atoms_outside(self):
        from ase import Atoms

        rng = np.random.default_rng(3)
        for pbc in ((True, True, True), (True, False, True)):
            cell = np.eye(3) * 3.0 + rng.uniform(-1.2, 1.2, (3, 3))
            positions = rng.uniform(-4, 8, (5, 3))
            atoms = structure("AAAAA", positions, cell, pbc)

            i, j, shift, vector = neighbor_edges(atoms, 4.0)
            ri, rj, rs, rd = neighbour_list(
                "ijSD", Atoms("C5", positions=positions, cell=cell, pbc=pbc), 4.0
            )

            self.assertEqual(edge_rows(i, j, shift), edge_rows(ri, rj, rs))
            np.testing.assert_allclose(vector.sum(axis=0), rd.sum(axis=0), atol=1e-11)


class Evaluate(unittest.TestCase):
    def setUp(self):
        self.model, self.card = PairPotential().double(), make_card(**pair_card())
        self.atoms = rattled_rocksalt()

    def energy(self, positions=None, cell=None):
        moved = dict(
            self.atoms,
            positions=positions if positions is not None else self.atoms["positions"],
            cell=cell if cell is not None else self.atoms["cell"],
        )
        return evaluate(self.model, self.card, moved)["energy"]

    def test_energy_is_the_sum_of_the_atoms_energies(self):
        result = evaluate(self.model, self.card, self.atoms)

        self.assertAlmostEqual(result["energy"], result["energies"].sum(), places=13)

    def test_forces_are_the_negative_slope_of_the_energy(self):
        forces = evaluate(self.model, self.card, self.atoms)["forces"]
        direction = np.random.default_rng(0).normal(size=forces.shape)
        x, h = np.array(self.atoms["positions"]), 1e-4

        slope = (
            (
                8 * (self.energy(x + h * direction) - self.energy(x - h * direction))
                - self.energy(x + 2 * h * direction)
                + self.energy(x - 2 * h * direction)
            )
            / 12
            / h
        )

        self.assertAlmostEqual(-(forces * direction).sum() / slope, 1.0, delta=1e-8)

    def test_stress_is_the_slope_with_strain_over_the_volume(self):
        stress = evaluate(self.model, self.card, self.atoms)["stress"]
        x, cell, h = np.array(self.atoms["positions"]), np.array(self.atoms["cell"]), 1e-4
        volume = abs(np.linalg.det(cell))

        def strained(a, b, step):
            strain = np.eye(3)
            strain[a, b] += step
            return self.energy(x @ strain, cell @ strain)

        for a, b in ((0, 0), (0, 1), (1, 0), (2, 1)):
            near = strained(a, b, h) - strained(a, b, -h)
            far = strained(a, b, 2 * h) - strained(a, b, -2 * h)
            slope = (8 * near - far) / 12 / h
            self.assertAlmostEqual(slope / volume, stress[a, b], delta=1e-10)

    def test_model_of_positions_gives_the_same_forces(self):
        class ByPositions(torch.nn.Module):
            def forward(self, data):
                first, second = data["edge_index"]
                data["edge_vectors"] = data["x"][second] - data["x"][first] + data["shift"]
                return PairPotential()(data)

        inputs = {
            "species": "species_index",
            "edge_index": "edge_index",
            "x": "positions",
            "shift": "edge_shifts",
        }
        card = make_card(**pair_card(inputs=inputs, forces="positions", rows="raw"))

        expected = evaluate(self.model, self.card, self.atoms)
        result = evaluate(ByPositions(), card, self.atoms)

        np.testing.assert_allclose(result["forces"], expected["forces"], atol=1e-14)

    def test_swapped_rows_reverse_every_edge_but_keep_energy_and_forces(self):
        class Swapped(torch.nn.Module):
            def forward(self, data):
                return PairPotential()({**data, "edge_index": data["edge_index"].flip(0)})

        card = make_card(**pair_card(receiver_row=1))

        expected = evaluate(self.model, self.card, self.atoms)
        result = evaluate(Swapped(), card, self.atoms)

        for key in ("energies", "forces", "stress"):
            np.testing.assert_allclose(result[key], expected[key], atol=1e-14)

    def test_numbers_times_integers_have_the_precision_of_the_archive(self):
        class Charges(torch.nn.Module):
            def forward(self, data):
                charge = 0.1 * (data["species"] + 1)  # in torch's default precision
                return {"energy": charge * PairPotential()(data)["energy"].new_ones(1)}

        self.card["forces"] = "model"  # no gradient is taken
        self.card["outputs"]["f"] = {"role": "forces", "kind": "per_node", "shape": "(rows,3)"}
        module = Charges()
        forward = module.forward
        module.forward = lambda data: dict(forward(data), f=torch.zeros(8, 3))

        energies = evaluate(module, self.card, self.atoms)["energies"]

        self.assertEqual(sorted(set(energies.tolist())), [0.1, 0.2])
        self.assertEqual(torch.get_default_dtype(), torch.float32)

    def test_stress_is_that_of_a_symmetric_strain(self):
        class AlongX(torch.nn.Module):
            """Not invariant under rotations: dE/dstrain has an antisymmetric part."""

            def forward(self, data):
                x = data["edge_vectors"]
                pair = x[:, 0] ** 3 * x[:, 1]
                rows = torch.zeros(data["species"].size(0), dtype=x.dtype)
                return {"energy": rows.index_add(0, data["edge_index"][0], pair)}

        stress = evaluate(AlongX(), self.card, self.atoms)["stress"]

        self.assertGreater(np.abs(stress).max(), 1e-3)
        np.testing.assert_array_equal(stress, stress.T)

    def test_refuses_a_role_that_one_structure_cannot_fill(self):
        card = make_card(**pair_card())
        card["inputs"]["q"] = {"role": "charges"}

        with self.assertRaisesRegex(NotImplementedError, "input role 'charges'"):
            evaluate(self.model, card, self.atoms)


class Magnet(PairPotential):
    """Moments of atoms scale the pairs, a field and sites of integers shift the energies."""

    def forward(self, data: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        energy = super().forward(data)["energy"]
        moments, site = data["m"], data["z"]
        shift = (moments * data["field"]).sum(1) + torch.tensor([0.0, 0.25])[site]
        return {"energy": energy * (1 + moments[:, 0]) + shift.to(energy.dtype)}


class NamedInputs(unittest.TestCase):
    def setUp(self):
        self.card = make_card(**pair_card())
        self.card["inputs"].update(
            m={"role": "atom_input", "name": "moments", "columns": 3},
            z={"role": "atom_input", "name": "site", "dtype": "int64", "default": 1},
            field={"role": "system_input", "name": "field", "columns": 3, "default": [0, 0, 2]},
        )
        self.atoms = rattled_rocksalt()

    def test_are_a_number_a_list_or_lists_of_them(self):
        self.atoms["inputs"] = {"moments": [0, 0, 0.5]}
        plain = evaluate(PairPotential(), make_card(**pair_card()), self.atoms)
        same = evaluate(Magnet(), self.card, self.atoms)
        np.testing.assert_allclose(same["energies"], plain["energies"] + 1.25)

        moments = np.zeros((8, 3))
        moments[:, 1] = np.arange(8)
        sites = [0, 1] * 4
        self.atoms["inputs"] = {"moments": moments.tolist(), "site": sites, "field": [9, 3, 9]}
        each = evaluate(Magnet(), self.card, self.atoms)
        expected = plain["energies"] + 3.0 * np.arange(8) + 0.25 * np.array(sites)
        np.testing.assert_allclose(each["energies"], expected)

    def test_of_the_reference_are_given_to_the_archive(self):
        self.atoms["inputs"] = {"moments": [0.3, 0, 0.5], "site": 0}
        add_reference(self.card, self.atoms, evaluate(Magnet(), self.card, self.atoms))
        self.assertEqual(self.card["reference"]["inputs"]["site"], 0)
        check_reference(Magnet(), self.card)
        self.card["reference"]["inputs"]["moments"][0] = 0.4
        with self.assertRaisesRegex(RuntimeError, "does not reproduce its reference"):
            check_reference(Magnet(), self.card)

    def test_are_asked_for_and_refused_where_they_are_no_integers(self):
        with self.assertRaisesRegex(ValueError, "no value for the input 'moments'"):
            evaluate(Magnet(), self.card, self.atoms)
        self.atoms["inputs"] = {"moments": [0, 0, 0], "site": 0.5}
        with self.assertRaisesRegex(ValueError, "got 0.5 for the input 'site', expected integers"):
            evaluate(Magnet(), self.card, self.atoms)


class CheckReference(unittest.TestCase):
    def setUp(self):
        self.model, self.card = PairPotential().double(), make_card(**pair_card())
        atoms = rattled_rocksalt()
        add_reference(self.card, atoms, evaluate(self.model, self.card, atoms))

    def test_accepts_the_model_it_was_made_from(self):
        self.assertEqual(check_reference(self.model, self.card)["energy"], 0.0)

    def test_refuses_a_card_that_swaps_two_species(self):
        self.card["species_index"] = [1, 0]

        with self.assertRaisesRegex(RuntimeError, "'pair' does not reproduce its reference"):
            check_reference(self.model, self.card)

    def test_refuses_a_model_whose_numbers_are_not_numbers(self):
        self.card["reference"]["energy"] = float("nan")

        with self.assertRaisesRegex(RuntimeError, "energy.*nan"):
            check_reference(self.model, self.card)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
