# SPDX-License-Identifier: GPL-2.0-only
"""Files of the tool nvalchemi-validate: structures that it reads, pictures of its reports."""

import subprocess
import sys
import unittest

from test_nvalchemi_validate import (
    EXAMPLES,
    FAILED,
    PASSED,
    TRANSFORMER,
    ToolTest,
    needs_library,
    rock_salt,
)


class Structures(ToolTest):
    command = "--archive example_network.pt --structure "

    def write_xyz(self, name="nacl.extxyz", header=None, atom=None):
        """The rock salt of nacl.json as the command nvalchemi/write writes it."""
        system = rock_salt()
        lattice = " ".join(str(x) for vector in system["cell"] for x in vector)
        header = header or (
            f'Lattice="{lattice}" pbc="T T T" energy=-1.5 '
            "Properties=species:S:1:pos:R:3:id:I:1:energies:R:1:forces:R:3"
        )
        lines = [
            f"{symbol} {x!r} {y!r} {z!r} {k + 1} -0.5 0 0 1e-3"
            for k, (symbol, (x, y, z)) in enumerate(zip(system["symbols"], system["positions"]))
        ]
        lines[0] = atom or lines[0]
        self.write("\n".join([str(len(lines)), header, *lines]) + "\n", name)

    def quantities(self, structure):
        self.expect(PASSED, f"{self.command}{structure} --output report.json", "128 atoms")
        return self.report()["quantities"]

    def test_one_boolean_is_for_all_directions(self):
        three = self.quantities("nacl.json")
        self.write({**rock_salt(), "pbc": True}, "one.json")
        self.assertEqual(self.quantities("one.json"), three)
        self.write({**rock_salt(), "pbc": False}, "none.json")
        self.assertNotEqual(self.quantities("none.json"), three)
        self.assertEqual(self.report()["structure"]["periodic"], [False] * 3)
        self.write({**rock_salt(), "pbc": "yes"}, "odd.json")
        self.expect(
            FAILED,
            self.command + "odd.json",
            'odd.json /pbc: got "yes", expected a boolean or three of them',
        )

    def test_extended_xyz_is_the_same_structure(self):
        self.write_xyz()
        self.assertEqual(self.quantities("nacl.extxyz"), self.quantities("nacl.json"))

    def test_names_the_line_of_extended_xyz_that_it_cannot_read(self):
        good = "Properties=species:S:1:pos:R:3"
        lattice = 'Lattice="9 0 0 0 9 0 0 0 9"'
        for options, text in (
            ({"header": good}, "line 2: got 'Properties=species:S:1:pos:R:3', expected Lattice="),
            ({"header": lattice + ' pbc="yes" ' + good}, "line 2: got 'yes', expected pbc="),
            ({"header": lattice + " Properties=pos:R:3"}, "species:S:1 and pos:R:3"),
            ({"header": lattice + " Properties=species:S:x"}, "got 'x', expected a number of"),
            ({"atom": "Xx 0 0 0 1 0 0 0 0"}, "line 3: got 'Xx', expected an element of model"),
            ({"atom": "Na 0 zero 0 1 0 0 0 0"}, "line 3: got 'zero', expected a coordinate"),
            ({"atom": "Na 0 0 nan 1 0 0 0 0"}, "line 3: got 'nan', expected a coordinate"),
            ({"atom": "Na 0 0 0"}, "line 3: got 'Na 0 0 0', expected an atom of 9 columns"),
        ):
            with self.subTest(text):
                self.write_xyz("odd.xyz", **options)
                self.expect(FAILED, self.command + "odd.xyz", "odd.xyz line ", text)
        self.write("many\n", "odd.xyz")
        self.expect(
            FAILED,
            self.command + "odd.xyz",
            "odd.xyz line 1: got 'many', expected the number of atoms",
        )
        self.write("3\n" + lattice + "\nNa 0 0 0\n", "odd.xyz")
        self.expect(FAILED, self.command + "odd.xyz", "line 4: got nothing, expected an atom of 4")

    def test_the_structure_of_the_example_can_be_read(self):
        self.expect(PASSED, f"{self.command}{TRANSFORMER / 'nacl.json'}", "216 atoms on 2 ranks")


class Picture(ToolTest):
    def draw(self, report):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("no package matplotlib")
        program = [sys.executable, str(EXAMPLES / "plot_report.py"), report, "errors.png"]
        return subprocess.run(program, capture_output=True, text=True, cwd=self.folder)

    def test_says_tidily_what_it_cannot_read(self):
        self.write("no JSON", "odd.json")
        self.write("[]", "list.json")
        for name, text in (
            ("none.json", "error: none.json: cannot be read (No such file or directory)"),
            ("odd.json", "error: odd.json is no report of a validation: it is no JSON"),
            ("list.json", "error: list.json is no report of a validation"),
        ):
            done = self.draw(name)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    @needs_library
    def test_says_which_attempt_it_draws(self):
        wrong = TRANSFORMER / "missing_scatter_outputs.spec.json"
        for ranks, verdict in ((1, "failed"), (2, "failed")):
            self.expect(
                PASSED,
                f"--archive graph_transformer.pt --structure nacl.json --ranks {ranks} "
                f"--spec {wrong} --autofix apply --output report.json",
            )
            done = self.draw("report.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"virtual parts, attempt 1 (the given spec), {verdict}", done.stdout)
            self.assertEqual((self.folder / "errors.png").read_bytes()[1:4], b"PNG")


if __name__ == "__main__":
    unittest.main(verbosity=2)
