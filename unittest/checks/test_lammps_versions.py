#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The glue compiles against the headers of other LAMMPS versions.

NVALCHEMI_LAMMPS_SOURCES lists LAMMPS source trees (folders with src/version.h), separated by ':'.
Without it there is nothing to compile against, and the test is skipped. The styles for Kokkos are
compiled too, against those of them that have src/KOKKOS, if NVALCHEMI_KOKKOS_HEADERS lists as many
folders with Kokkos_Core.hpp (empty: leave them out). LAMMPS's headers of 2026 include
nlohmann/json_fwd.hpp of LAMMPS's own; for sources without it NVALCHEMI_EXTRA_HEADERS may name more
folders, in front of others.
"""

import itertools
import json
import os
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("NVALCHEMI_BUILD_DIR", "build"))
SOURCES = [Path(p) for p in os.environ.get("NVALCHEMI_LAMMPS_SOURCES", "").split(":") if p]
KOKKOS = os.environ.get("NVALCHEMI_KOKKOS_HEADERS", "").split(":")
EXTRA = [p for p in os.environ.get("NVALCHEMI_EXTRA_HEADERS", "").split(":") if p]
GLUE = "/src/USER-NVALCHEMI/"
SKIPPED = 77


def is_lammps_include(path):
    names = ("lammpsplugin.h", "pair.h", "kokkos_type.h", "Kokkos_Core.hpp")
    return any((Path(path) / name).exists() for name in names)


def against(command, source, kokkos=""):
    """The compile command with another LAMMPS's headers, checking syntax only."""
    folders = [*EXTRA, source / "src"]
    if kokkos:
        folders += [source / "src" / "KOKKOS", kokkos]
    words = shlex.split(command)
    words = words[1:] if Path(words[0]).name == "ccache" else words
    result = ["-fsyntax-only", "-w", "-fopenmp", *(f"-isystem{folder}" for folder in folders)]
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
    options = 3 + len(folders)
    return [result[options], *result[:options], *result[options + 1 :]]


def is_for_kokkos(entry):
    return entry["file"].endswith("_kokkos.cpp")


class LammpsVersions(unittest.TestCase):
    def test_glue_compiles(self):
        entries = json.loads((BUILD / "compile_commands.json").read_text())
        glue = [e for e in entries if GLUE in e["file"] and "/unittest/" not in e["file"]]
        self.assertGreater(len(glue), 10)
        for source, kokkos in itertools.zip_longest(SOURCES, KOKKOS[: len(SOURCES)], fillvalue=""):
            version = (source / "src" / "version.h").read_text().split('"')[1]
            compiled = [e for e in glue if kokkos or not is_for_kokkos(e)]
            for entry in compiled:
                with self.subTest(version=version, file=Path(entry["file"]).name):
                    headers = kokkos if is_for_kokkos(entry) else ""
                    run = subprocess.run(
                        against(entry["command"], source, headers),
                        cwd=entry["directory"],
                        capture_output=True,
                        text=True,
                    )
                    self.assertEqual(run.returncode, 0, run.stderr[-2000:])
            print(f"LAMMPS {version}: {len(compiled)} files compile")

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
