# SPDX-License-Identifier: GPL-2.0-only
import tempfile
import unittest
from pathlib import Path

from run_doc_inputs import Block, PageError, complete, pages, read_blocks

PAGE = """
Title
=====

.. lammps-input: pair
.. code-block:: LAMMPS

   pair_style nvalchemi
   pair_coeff * * model.pt Na

Text.

.. code-block:: none

   not an input

* in a list

  .. lammps-input: fix
  .. code-block:: LAMMPS
     :caption: with an option

     fix 1 all nve

.. lammps-input: whole
.. literalinclude:: in.file
   :language: LAMMPS
"""


class ReadBlocks(unittest.TestCase):
    def read(self, text, name="index.rst"):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "in.file").write_text("plugin load x\nrun 0\n")
            (Path(folder) / name).write_text(text)
            return read_blocks(Path(folder) / name)

    def test_finds_blocks_with_kind_line_and_text(self):
        blocks = self.read(PAGE)

        self.assertEqual(
            [(block.kind, block.line, block.text) for block in blocks],
            [
                ("pair", 6, "pair_style nvalchemi\npair_coeff * * model.pt Na\n"),
                ("fix", 20, "fix 1 all nve\n"),
                ("whole", 26, "plugin load x\nrun 0\n"),
            ],
        )

    def test_finds_fenced_blocks(self):
        (block,) = self.read("<!-- lammps-input: whole -->\n```LAMMPS\nrun 0\n```\n", "README.md")

        self.assertEqual((block.kind, block.text), ("whole", "run 0\n"))

    def test_refuses_a_block_without_marker(self):
        with self.assertRaisesRegex(
            PageError, r"index.rst:1: got a LAMMPS block after marker None"
        ):
            self.read(".. code-block:: LAMMPS\n\n   run 0\n")

    def test_refuses_a_marker_that_text_separates_from_its_block(self):
        with self.assertRaisesRegex(PageError, "index.rst:5: .* marker None"):
            self.read(".. lammps-input: fix\n\ntext\n\n.. code-block:: LAMMPS\n\n   run 0\n")

    def test_refuses_an_unknown_kind(self):
        with self.assertRaisesRegex(PageError, "after marker 'part', expected .*'whole'"):
            self.read(".. lammps-input: part\n.. code-block:: LAMMPS\n\n   run 0\n")

    def test_refuses_a_next_input_without_one_before_it(self):
        with self.assertRaisesRegex(PageError, "index.rst:2: got a next input, expected another"):
            self.read(".. lammps-input: next\n.. code-block:: LAMMPS\n\n   run 0\n")


class Complete(unittest.TestCase):
    def test_gives_a_whole_input_the_plugin_of_this_build(self):
        block = Block("p", 1, "whole", "plugin load build/x.so\nrun 0\n")

        self.assertEqual(complete(block, "/b/p.so"), "plugin load /b/p.so\nrun 0\n")

    def test_refuses_a_whole_input_without_plugin(self):
        with self.assertRaisesRegex(PageError, "begins with plugin load"):
            complete(Block("p", 1, "whole", "run 0\n"), "/b/p.so")

    def test_leaves_an_installed_input_as_it_is(self):
        self.assertEqual(complete(Block("p", 1, "installed", "run 0\n"), "/b/p.so"), "run 0\n")
        with self.assertRaisesRegex(PageError, "an installed package needs no plugin load"):
            complete(Block("p", 1, "installed", "plugin load x.so\n"), "/b/p.so")

    def test_puts_a_pair_block_after_the_box_and_before_the_run(self):
        text = complete(Block("p", 1, "pair", "pair_style nvalchemi\n"), "/b/p.so")

        self.assertLess(text.index("create_box"), text.index("pair_style"))
        self.assertLess(text.index("pair_style"), text.index("run 2"))


class Pages(unittest.TestCase):
    def test_every_page_of_this_tree_can_be_followed(self):
        kinds = {block.kind for page in pages([]) for block in read_blocks(page)}

        self.assertEqual(kinds, {"whole", "next", "installed", "pair", "fix", "gpu", "kokkos"})

    def test_the_minimal_input_of_the_readme_is_the_example(self):
        readme, example = pages([])[0], Path(__file__).parents[2] / "examples/lammps/minimal"
        (block,) = read_blocks(readme)

        def commands(text):
            lines = (line.split("#")[0].rstrip() for line in text.splitlines())
            return [line for line in lines if line and not line.startswith("plugin load")]

        self.assertEqual(
            [line.replace("examples/lammps/minimal/", "") for line in commands(block.text)],
            commands((example / "in.minimal").read_text()),
        )


if __name__ == "__main__":
    unittest.main()
