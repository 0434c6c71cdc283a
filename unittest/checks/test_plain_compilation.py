# SPDX-License-Identifier: GPL-2.0-only
"""Every source compiles alone: precompiled headers and groups can hide a missing #include."""

import json
import os
import shlex
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
OPTIONS = ("NVALCHEMI_PRECOMPILED_HEADERS", "NVALCHEMI_GROUPED_SOURCES")
PLANTED = REPOSITORY / "spec" / "format_names.cpp"


def configured_commands(folder):
    """The compiler's commands of a build without either option, by source file."""
    arguments = [f"-D{name}=OFF" for name in (*OPTIONS, "NVALCHEMI_ENABLE_CUDA")]
    arguments.append(f"-DNVALCHEMI_ENV_DIR={os.environ['NVALCHEMI_ENV_DIR']}")
    subprocess.run(
        ["cmake", "-S", REPOSITORY, "-B", folder, *arguments], check=True, stdout=subprocess.DEVNULL
    )
    entries = json.loads((Path(folder) / "compile_commands.json").read_text())
    return {entry["file"]: entry["command"] for entry in entries}


def check_syntax(command, source=None):
    """The compiler's messages; empty if the source, or the one given instead, is right."""
    words = shlex.split(command)
    words = words[: words.index("-o")] + ["-Werror", "-fsyntax-only", source or words[-1]]
    return subprocess.run(words, capture_output=True, text=True).stderr


class PlainCompilation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.commands = configured_commands(folder.name)

    def test_nothing_is_included_or_grouped_by_the_build(self):
        for file, command in self.commands.items():
            self.assertTrue(Path(file).is_relative_to(REPOSITORY), file)
            self.assertNotIn("-include", shlex.split(command))

    def test_each_source_compiles(self):
        self.assertGreater(len(self.commands), 150)
        with ThreadPoolExecutor(max_workers=2) as pool:
            messages = pool.map(check_syntax, self.commands.values())
            for file, message in zip(self.commands, messages):
                with self.subTest(file=file):
                    self.assertEqual(message, "")

    def test_a_missing_include_is_found(self):
        lines = PLANTED.read_text().splitlines()
        kept = [line for line in lines if not line.startswith("#include")]
        planted = self.folder / "planted.cpp"
        planted.write_text("\n".join(kept))

        self.assertIn("error", check_syntax(self.commands[str(PLANTED)], str(planted)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
