# SPDX-License-Identifier: GPL-2.0-only
"""Command nvalchemi/write: the files hold what the model sees, whatever the number of ranks."""

import numpy as np
import scripted
from structure import to_restricted_frame
from suite import LammpsTest, main, one_line, scripted_model


def read_extxyz(path):
    """(header, symbols, columns) of an extended XYZ file of this command."""
    lines = path.read_text().splitlines()
    rows = [line.split() for line in lines[2:]]
    assert len(rows) == int(lines[0])
    return lines[1], [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)


class WriteInput(LammpsTest):
    def setUp(self):
        super().setUp()
        self.model = scripted_model("two_layers", scripted.TWO_LAYERS, 1)
        self.structure = scripted.crystal("nacl64")

    def written(self, ranks):
        """Atoms and edges by id, sorted."""
        lines = ["nvalchemi/write seen"]
        self.run_structure(self.structure, self.model.settings(ranks=ranks), lines)
        header, symbols, atoms = read_extxyz(self.folder / "seen.extxyz")
        order = np.argsort(atoms[:, 3])
        edges = np.loadtxt(self.folder / "seen.edges")
        edges = edges[np.lexsort(edges[:, ::-1].round(6).T)]
        return header, [symbols[k] for k in order], atoms[order], edges

    def test_holds_atoms_and_the_models_answer(self):
        alone = self.alone(self.structure, self.model.settings())
        frame = to_restricted_frame(self.structure)
        for ranks in (1, 3):
            header, symbols, atoms, _ = self.written(ranks)
            with self.subTest(ranks=ranks):
                self.assertEqual(symbols, self.structure.symbols)
                self.assert_close(atoms[:, 4], alone.energies)
                self.assert_close(atoms[:, 5:8], alone.forces)
                fractions = (atoms[:, :3] - frame.positions) @ np.linalg.inv(frame.cell)
                self.assertLess(np.abs(fractions - fractions.round()).max(), 1e-12)
                self.assertIn('pbc="T T T"', header)
                lattice = header.split('"')[1].split()
                self.assert_close([float(word) for word in lattice], frame.cell.ravel())
                energy = float(header.split("energy=")[1].split()[0])
                self.assert_close(energy, alone.energy)

    def test_holds_every_edge_within_the_cutoff_once(self):
        frame = to_restricted_frame(self.structure)
        images = np.array(list(np.ndindex(5, 5, 5))) - 2
        expected = []
        for i, here in enumerate(frame.positions):
            for j, there in enumerate(frame.positions):
                steps = there + images @ frame.cell - here
                length = np.linalg.norm(steps, axis=1)
                near = (length < self.model.cutoff) & (length > 1e-6)
                expected += [(i + 1, j + 1, *step) for step in steps[near]]
        expected = np.array(expected)
        expected = expected[np.lexsort(expected[:, ::-1].round(6).T)]
        for ranks in (1, 3):
            edges = self.written(ranks)[3]
            with self.subTest(ranks=ranks):
                self.assertEqual(edges.shape, expected.shape)
                self.assertLess(np.abs(edges - expected).max(), 1e-9)

    def refused(self, line, text):
        self.write_structure(self.structure)
        script = self.script(self.structure, self.model.settings(ranks=2), line)
        run = self.run_input(script, 2, timeout=60)
        self.assertNotIn(run.status, (0, None))
        self.assertIn(text, one_line(run.message))

    def test_refuses_what_it_cannot_do(self):
        self.refused(["nvalchemi/write"], "got 0 arguments, expected one: the files' name without")
        self.refused(["nvalchemi/write no/such"], "cannot write no/such.extxyz, expected a folder")
        other = ["pair_style lj/cut 5.0", "pair_coeff * * 0.01 2.0", "nvalchemi/write seen"]
        self.refused(other, "nvalchemi/write: got pair_style lj/cut, expected nvalchemi")


if __name__ == "__main__":
    main()
