# SPDX-License-Identifier: GPL-2.0-only
"""Archives composed by nvalchemi-compose, against their parts under pair_style hybrid/overlay."""

import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import test_finite_differences
from installation import find_build_file
from suite import LONG, LammpsTest, Model, main, model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lammps"
ARCHIVES = tempfile.TemporaryDirectory(prefix="nvalchemi-compositions-")
# the parts of each composition; SevenNet takes too long for every change
COMPOSITIONS = (
    ("toy_index_add", "d3bj_pbe"),
    ("mace_rand_f64", "d3bj_pbe"),
    ("mace_rand_f64", "ewald_converged"),
    *([("sevennet_0_f64", "d3bj_pbe")] if LONG else []),
)


def compose(words):
    return subprocess.run(
        [find_build_file("nvalchemi-compose"), *words], capture_output=True, text=True, timeout=600
    )


class Ionic(Model):
    """Atoms have charges, which are read by an Ewald sum that no other part gives any."""

    def case(self, crystal):
        structure, reference = super().case(crystal)
        charges = tuple({"Na": 1.0, "Cl": -1.0}[symbol] for symbol in structure.symbols)
        return replace(structure, charges=charges), reference


def part_named(name):
    """An archive of the tests, or an example that reads the atoms' charges."""
    example = EXAMPLES / "coulomb" / f"{name}.pt"
    return Model(name, str(example), 9.0, 0, None) if example.exists() else model(name)


@cache
def composed(names):
    """(the composition, its parts)."""
    parts = [part_named(name) for name in names]
    path = Path(ARCHIVES.name) / f"{'_'.join(names)}.pt"
    done = compose([*(part.archive for part in parts), "-o", str(path)])
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    exchanges = sum(part.exchanges for part in parts)
    cutoff = max(part.cutoff for part in parts)
    return Ionic("_".join(names), str(path), cutoff, exchanges, parts[0].folder), parts


@cache
def wired():
    """A network that predicts charges, an Ewald sum over them, and a dispersion energy."""
    dispersion = model("d3bj_pbe")
    path = Path(ARCHIVES.name) / "wired.pt"
    parts = [EXAMPLES / "charge_equilibration" / "charge_equilibration.pt"]
    # converged, so that no edge that crosses the cutoff moves the energy
    parts += [EXAMPLES / "coulomb" / "ewald_converged.pt", dispersion.archive]
    done = compose([*map(str, parts), "-o", str(path)])
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return Model("toy_wired", str(path), 9.0, None, dispersion.folder)


def overlay(parts, symbols="Na Cl"):
    lines = ["pair_style hybrid/overlay" + len(parts) * " nvalchemi"]
    for number, part in enumerate(parts, start=1):
        lines.append(f'pair_coeff * * nvalchemi {number} "{part.archive}" {symbols}')
    return tuple(lines)


class AgainstOverlay(LammpsTest):
    def numbers(self, archive, ranks, **options):
        structure = archive.case("nacl64")[0]
        return structure, self.decomposed(structure, archive.settings(ranks=ranks, **options))

    def test_same_numbers_as_the_parts_on_one_to_four_ranks(self):
        for names in COMPOSITIONS:
            archive, parts = composed(names)
            structure, expected = self.numbers(archive, 1, pair_lines=overlay(parts))
            for ranks in (1, 2, 3, 4):
                with self.subTest(names=names, ranks=ranks):
                    found = self.numbers(archive, ranks)[1]
                    self.assert_same(found.reference, expected.reference, structure.volume)
                    self.assertEqual(
                        found.exchanges,
                        {"forward": archive.exchanges, "backward": archive.exchanges},
                    )

    def test_charges_of_one_part_in_another_on_one_to_four_ranks(self):
        structure, expected = self.numbers(wired(), 1)
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                found = self.numbers(wired(), ranks)[1]
                self.assert_same(found.reference, expected.reference, structure.volume)

    def test_another_sum_is_noticed(self):
        archive, parts = composed(COMPOSITIONS[0])
        expected = self.numbers(archive, 1, pair_lines=overlay([*parts, parts[1]]))[1]
        structure, found = self.numbers(archive, 2)

        with self.assertRaises(AssertionError):
            self.assert_same(found.reference, expected.reference, structure.volume)


class Slopes(test_finite_differences.FiniteDifferences):
    test_each_family = None

    def test_forces_and_stress_are_slopes_of_the_sum(self):
        for names in COMPOSITIONS:
            with self.subTest(names=names):
                self.check(composed(names)[0], "nacl64", 1)

    def test_forces_hold_the_derivatives_through_charges(self):
        self.check(wired(), "nacl64", 2)


class Tool(LammpsTest):
    def test_says_what_it_wrote(self):
        part = model("toy_index_add").archive
        done = compose([part, part, "-o", str(self.folder / "twice.pt"), "--name", "pair"])

        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("twice.pt: 2 models, ", done.stdout)
        self.assertIn("differences from the sum of its parts on a small structure: ", done.stdout)
        self.assertIn("halo_forward", done.stdout)

    def test_refuses_words_that_make_no_sense(self):
        part = model("toy_index_add").archive
        for words, text in (
            ([part, "-o", "x.pt"], "got 1 archives, expected two or more"),
            ([part, part], "got no --output, expected one"),
            ([part, part, "-o"], "-o: got nothing, expected a value"),
            (
                [part, part, "--out", "x.pt"],
                "got unknown option '--out', expected one of --output, --name, --ops",
            ),
        ):
            done = compose(words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(
                done.stderr, f"nvalchemi-compose: {text}\nsee nvalchemi-compose --help\n"
            )

    def test_leaves_no_file_behind_when_it_fails(self):
        part = model("toy_index_add").archive
        done = compose([part, "absent.pt", "-o", str(self.folder / "x.pt")])

        self.assertEqual(done.returncode, 1)
        self.assertIn("absent.pt: cannot be read", done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    main()
