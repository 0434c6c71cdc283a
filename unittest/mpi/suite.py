# SPDX-License-Identifier: GPL-2.0-only
"""What the LAMMPS tests share: models and crystals to run, assertions with the bars of the package.

Every test file is a program: exit status 0 passes. `--long` adds what takes too long for every
change, and the archives of NVALCHEMI_FIXTURES where that is set.
"""

import json
import sys
import tempfile
import unittest
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import scripted
from comparison import (
    Settings,
    alone_in_lammps_frame,
    case_in_lammps_frame,
    differences,
    magnitudes,
    opening_lines,
    pair_lines,
    run_decomposed,
)
from installation import NotInstalled, find_archives, find_installation
from simulation import read_dump, run_lammps
from structure import Structure, read_case, write_data

LONG = "--long" in sys.argv
CRYSTALS = ("nacl64", "si64")
CASE_BARS = {"dE": 1e-8, "dEatom": 5e-9, "dF": 5e-9, "dS": 1e-10}  # eV, Angstrom
RELATIVE_BAR = 1e-10


@dataclass(frozen=True)
class Model:
    """An archive with its card and the folder of its cases (None: the package's own crystals)."""

    name: str
    archive: str
    cutoff: float
    exchanges: int  # of halo rows each way in a step, None where the card does not say
    folder: str | None

    @property
    def turns(self):
        """Whether numbers turn with the structure: ORB is not invariant under rotations."""
        return not self.name.startswith("orb")

    @property
    def case_bars(self):
        """How close numbers come to the package's. The stress of a model that is not invariant has
        an antisymmetric part, which the package leaves out and LAMMPS cannot: see test_export_orb.
        """
        return {name: bar for name, bar in CASE_BARS.items() if self.turns or name != "dS"}

    def case(self, crystal):
        """(structure, reference or None) of a crystal."""
        if self.folder is None:
            return scripted.crystal(crystal), None
        stem = self.name.removeprefix("handed_")
        names = [
            path
            for path in Path(self.folder).glob(f"*_{crystal}.json")
            if stem.startswith(path.name[: -len(f"_{crystal}.json")])
        ]
        return read_case(max(names, key=lambda path: len(path.name)))

    def settings(self, **options):
        return Settings(archive=self.archive, **options)


STAND_IN_FOLDER = tempfile.TemporaryDirectory(prefix="nvalchemi-archives-")


@cache
def scripted_model(name, body, exchanges, dtype="float64"):
    """An archive made from the body of a scripted network."""
    archive = scripted.write_archive(Path(STAND_IN_FOLDER.name), name, body, dtype)
    return Model(name, archive, 5.0, exchanges, None)


def models(*names):
    """The named archives of the tests, or all of them; where a named one was not made, the test is
    skipped."""
    found = find_archives(handed=LONG)
    missing = sorted(set(names) - set(found))
    if missing:
        raise unittest.SkipTest(
            f"{', '.join(missing)}: not made here; bash unittest/run.sh makes it"
        )
    result = []
    for name in names or found:
        card = json.loads(found[name].with_suffix(".card.json").read_text())
        # the card of ORB counts sums over the system too
        exchanges = None if card["family"] == "orb" else card.get("expected_exchanges")
        folder = str(found[name].parent)
        result.append(Model(name, str(found[name]), card["cutoff"], exchanges, folder))
    return result


def model(name):
    return models(name)[0]


def find_model(name):
    """An archive of the tests, or by a name in capitals a network of `scripted`."""
    if name.isupper():
        return scripted_model(name.lower(), getattr(scripted, name), None)
    return model(name)


def one_line(text):
    """A message that LAMMPS broke into lines."""
    return " ".join(text.split())


class LammpsTest(unittest.TestCase):
    """A test that runs LAMMPS in a scratch folder of its own."""

    maxDiff = None

    def setUp(self):
        self.installation = find_installation()
        scratch = tempfile.TemporaryDirectory(prefix="nvalchemi-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def decomposed(self, structure, settings, ids=None):
        return run_decomposed(self.installation, structure, settings, self.folder, ids)

    def alone(self, structure, settings):
        return alone_in_lammps_frame(self.installation, structure, settings)

    def write_structure(self, structure, name="case.data", **options):
        write_data(self.folder / name, structure, **options)

    def script(self, structure, settings, lines):
        """An input that reads case.data, sets the style up and goes on with `lines`."""
        opening = opening_lines(
            self.installation, settings, structure.periodic, structure.atom_style
        )
        return (
            "\n".join(
                [
                    *opening,
                    "read_data case.data",
                    *pair_lines(settings, structure.species),
                    f"neighbor {settings.skin:.17g} bin",
                    "thermo_modify format float %.17g",
                    *lines,
                ]
            )
            + "\n"
        )

    def run_input(self, script, ranks, **options):
        return run_lammps(
            self.installation, script, ranks, self.folder, **{"timeout": 300, **options}
        )

    def run_structure(self, structure, settings, lines, **options):
        """Write the structure, run `lines` on it and require success."""
        self.write_structure(structure)
        run = self.run_input(self.script(structure, settings, lines), settings.ranks, **options)
        return run.require_success()

    def snapshots(self, name):
        return read_dump(self.folder / name)

    def assert_same(self, found, expected, volume, relative=RELATIVE_BAR, note="", floor=None):
        """Each quantity within `relative` of its own largest absolute value, or of its `floor`
        where that is larger."""
        largest = magnitudes(expected, volume)
        for name, difference in differences(found, expected, volume).items():
            scale = max(largest[name], (floor or {}).get(name, 0.0))
            self.assertLessEqual(
                difference,
                relative * scale,
                f"{name} {note}: got "
                f"{difference:.3e}, expected at most {relative * scale:.3e} "
                f"({relative:g} of {scale:.3e})",
            )

    def assert_within(self, found, expected, volume, bars, note=""):
        found = differences(found, expected, volume)
        for name, bar in bars.items():
            text = f"{name} {note}: got {found[name]:.3e}, expected at most {bar:.3e}"
            self.assertLessEqual(found[name], bar, text)

    def assert_close(self, found, expected, relative=RELATIVE_BAR, note=""):
        """Arrays equal within `relative` of the largest absolute expected value."""
        found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
        self.assertEqual(found.shape, expected.shape, note)
        largest = np.max(np.abs(expected), initial=0.0)
        difference = np.max(np.abs(found - expected), initial=0.0)
        self.assertLessEqual(
            difference,
            relative * largest,
            f"{note}: got a difference of "
            f"{difference:.3e}, expected at most {relative * largest:.3e}",
        )


class ValidateTest(LammpsTest):
    """A test of fix nvalchemi/validate on a crystal, by default with the toy network."""

    words = ""  # of the fix
    timeout = 300

    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]

    def run_fix(
        self,
        words=None,
        lines=("run 0",),
        ranks=2,
        archive=None,
        structure=None,
        environment=None,
        **options,
    ):
        words = self.words if words is None else words
        settings = (archive or self.toy).settings(ranks=ranks, **options)
        structure = structure or self.structure
        self.write_structure(structure)
        script = self.script(
            structure, settings, [f"fix check all nvalchemi/validate {words}", *lines]
        )
        return self.run_input(script, ranks, environment=environment, timeout=self.timeout)


def cluster(symbols, positions, box):
    """Atoms in an open orthogonal box that begins at the origin."""
    return Structure(
        list(symbols),
        np.array(positions, dtype=float),
        np.diag(np.array(box, dtype=float)),
        (False, False, False),
    )


def main():
    """Run the tests of the calling file."""
    try:
        find_installation()
    except NotInstalled as missing:
        print(missing)
        raise SystemExit(1) from missing
    arguments = [word for word in sys.argv if word != "--long"]
    result = unittest.main(module="__main__", argv=arguments, exit=False, verbosity=2).result
    raise SystemExit(0 if result.wasSuccessful() else 1)


__all__ = [
    "CASE_BARS",
    "CRYSTALS",
    "LONG",
    "RELATIVE_BAR",
    "LammpsTest",
    "Model",
    "Settings",
    "ValidateTest",
    "case_in_lammps_frame",
    "cluster",
    "differences",
    "find_model",
    "main",
    "model",
    "models",
    "replace",
    "scripted_model",
]
