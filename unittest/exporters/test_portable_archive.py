# SPDX-License-Identifier: GPL-2.0-only
import os
import pickle
import tempfile
import unittest
import zipfile
from pathlib import Path

import torch
from support import PairPotential, pair_card

# isort: split
from card import make_card, write_archive
from portable_archive import shorten, shorten_pickled_texts

FOLDERS = ["/opt/python/site-packages/", "/opt/python/"]


class Shorten(unittest.TestCase):
    def test_removes_the_longest_leading_folder(self):
        self.assertEqual(shorten("/opt/python/site-packages/a/b.py", FOLDERS), "a/b.py")

    def test_removes_it_from_each_line_of_a_stack(self):
        self.assertEqual(
            shorten("/opt/python/a.py(1): f\n/opt/python/b.py(2): g\n", FOLDERS),
            "a.py(1): f\nb.py(2): g\n",
        )

    def test_keeps_other_text(self):
        self.assertEqual(shorten("return x / y", FOLDERS), "return x / y")


class ShortenPickledTexts(unittest.TestCase):
    def test_changes_texts_and_nothing_else(self):
        content = (("/opt/python/a.py", "é/opt/python/b.py"), 1, -7, 2**40, "/opt/python/a.py")

        pickled = shorten_pickled_texts(pickle.dumps(content, protocol=2), FOLDERS)

        self.assertEqual(pickle.loads(pickled), (("a.py", "éb.py"), 1, -7, 2**40, "a.py"))


class PortableArchive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name):
        path = os.path.join(self.folder, name)
        write_archive(torch.jit.script(PairPotential().eval()), make_card(**pair_card()), path)
        return path

    def test_names_no_folder_of_this_machine(self):
        here = str(Path(__file__).resolve().parent).encode()
        with zipfile.ZipFile(self.write("a.pt")) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}

        sources = [name for name in contents if name.endswith(".debug_pkl")]
        self.assertTrue(any(b"support.py" in contents[name] for name in sources))
        for name, content in contents.items():
            self.assertNotIn(here, content, name)
            self.assertTrue(name.startswith("pair/"), name)

    def test_equal_models_give_equal_files(self):
        self.assertEqual(
            Path(self.write("a.pt")).read_bytes(), Path(self.write("b.pt")).read_bytes()
        )


if __name__ == "__main__":
    unittest.main(warnings="ignore")
