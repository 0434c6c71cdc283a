# SPDX-License-Identifier: GPL-2.0-only
"""Which element an atom type is: by symbol alone, in any order, once or several times."""

import json
from pathlib import Path

import numpy as np
from suite import LammpsTest, main, model, one_line, replace

WARNING = "which is nearest to"


class ElementMap(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def test_types_in_another_order(self):
        expected = self.alone(self.structure, self.toy.settings())
        backwards = np.arange(len(self.structure))[::-1]
        turned = replace(
            self.structure,
            symbols=[self.structure.symbols[k] for k in backwards],
            positions=self.structure.positions[backwards],
        )
        self.assertEqual(turned.species, self.structure.species[::-1])
        found = self.decomposed(turned, self.toy.settings(ranks=2)).reference
        self.assert_close(found.forces[backwards], expected.forces)
        self.assert_close(found.energies[backwards], expected.energies)
        swapped = self.decomposed(
            turned, self.toy.settings(ranks=2, pair_lines=self.pair_lines("Na Cl"))
        ).reference
        with self.assertRaises(AssertionError):
            self.assert_close(swapped.forces[backwards], expected.forces)

    def pair_lines(self, symbols, words=""):
        return (f"pair_style nvalchemi {words}", f'pair_coeff * * "{self.toy.archive}" {symbols}')

    def test_fewer_elements_than_the_model_knows(self):
        """The last element of the model alone, which would be the first by its place."""
        hafnium = replace(self.structure, symbols=["Hf"] * len(self.structure))
        found = self.decomposed(hafnium, self.toy.settings(ranks=2))
        self.assert_same(
            found.reference, self.alone(hafnium, self.toy.settings()), self.structure.volume
        )
        self.assertRegex(found.log, r"(?m)^ +1 +Hf +72 +2 +178\.4")

    def test_two_types_of_one_element(self):
        expected = self.alone(self.structure, self.toy.settings())
        seen = {"Na": 0, "Cl": 0}
        types = []
        for symbol in self.structure.symbols:
            types.append(1 + 2 * (symbol == "Cl") + seen[symbol] % 2)
            seen[symbol] += 1
        self.assertEqual(set(types), {1, 2, 3, 4})
        self.write_structure(self.structure, types=types, masses=[22.99, 22.99, 35.45, 35.45])
        settings = self.toy.settings(ranks=2, pair_lines=self.pair_lines("Na Na Cl Cl"))
        run = self.run_input(
            self.script(
                self.structure,
                settings,
                ["thermo_style custom step pe", "thermo_modify format float %.17g", "run 0"],
            ),
            2,
        ).require_success()
        energy = float(run.log.split("PotEng")[1].split()[1])
        self.assertAlmostEqual(energy, expected.energy, delta=1e-9)

    def masses(self, symbols, masses):
        """The log with iron and cobalt in the places of sodium and chlorine."""
        card = json.loads(Path(self.toy.archive).with_suffix(".card.json").read_text())
        card["species"] = ["H", "Fe", "Li", "Co", "Hf"]
        card.pop("reference", None)
        (self.folder / "iron.json").write_text(json.dumps(card))
        lines = [*(f"mass {k + 1} {mass}" for k, mass in enumerate(masses)), "run 0"]
        settings = self.toy.settings(pair_lines=self.pair_lines(symbols, "card iron.json"))
        return one_line(self.run_structure(self.structure, settings, lines).log)

    def test_masses_of_neighbours_in_the_periodic_table_are_warned_of(self):
        log = self.masses("Fe Co", (58.933, 55.845))
        self.assertIn("atom type 1: got mass 58.933, which is nearest to Co, expected about", log)
        self.assertIn("atom type 2: got mass 55.845, which is nearest to Fe, expected about", log)

    def test_right_masses_and_isotopes_are_not_warned_of(self):
        for symbols, masses in (
            ("Fe Co", (55.845, 58.933)),
            ("Li H", (6.015, 2.014)),
            ("Fe H", (56.935, 4.0)),
        ):
            with self.subTest(masses=masses):
                self.assertNotIn(WARNING, self.masses(symbols, masses))


if __name__ == "__main__":
    main()
