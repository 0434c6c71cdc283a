#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The glue compiles against the headers of other LAMMPS versions.

NVALCHEMI_LAMMPS_SOURCES lists LAMMPS source trees (folders with src/version.h), separated by ':'.
Without it there is nothing to compile against, and the test is skipped.
"""

import json
import os
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("NVALCHEMI_BUILD_DIR", "build"))
SOURCES = [Path(p) for p in os.environ.get("NVALCHEMI_LAMMPS_SOURCES", "").split(":") if p]
GLUE = "/src/USER-NVALCHEMI/"
SKIPPED = 77


def is_lammps_include(path):
    return (Path(path) / "lammpsplugin.h").exists() or (Path(path) / "pair.h").exists()


def against(command, source):
    """The compile command with another LAMMPS's headers, checking syntax only."""
    words, result = shlex.split(command), ["-fsyntax-only", "-w", f"-isystem{source / 'src'}"]
    skip = False
    for k, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT") or (
            word in ("-isystem", "-I") and is_lammps_include(words[k + 1])
        ):
            skip = True
        elif word.startswith("-I") and is_lammps_include(word[2:]):
            continue
        elif word != "-MD":
            result.append(word)
    return [result[3], *result[:3], *result[4:]]


class LammpsVersions(unittest.TestCase):
    def test_glue_compiles(self):
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        glue = [e for e in entries if GLUE in e["file"] and "/unittest/" not in e["file"]]
        self.assertGreater(len(glue), 10)
        for source in SOURCES:
            version = (source / "src" / "version.h").read_text().split('"')[1]
            for entry in glue:
                with self.subTest(version=version, file=Path(entry["file"]).name):
                    run = subprocess.run(
                        against(entry["command"], source),
                        cwd=entry["directory"],
                        capture_output=True,
                        text=True,
                    )
                    self.assertEqual(run.returncode, 0, run.stderr[-2000:])
            print(f"LAMMPS {version}: {len(glue)} files compile")

    def test_a_planted_fault_is_found(self):
        """A header that has lost a class must not compile."""
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        entry = next(e for e in entries if e["file"].endswith("pair_nvalchemi.cpp"))
        command = against(entry["command"], SOURCES[0])
        run = subprocess.run(
            [*command, "-DNeighList=Missing::NeighList"],
            cwd=entry["directory"],
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(run.returncode, 0)


if __name__ == "__main__":
    if not SOURCES:
        print("SKIPPED: no LAMMPS sources; name their folders in NVALCHEMI_LAMMPS_SOURCES")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
