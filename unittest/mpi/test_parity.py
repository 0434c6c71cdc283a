# SPDX-License-Identifier: GPL-2.0-only
"""Every archive on both crystals gives the same numbers on any number of ranks as it gives alone,
and the numbers that its package computed; each rank makes the exchanges that the card states."""

from structure import random_rotation
from suite import CRYSTALS, LONG, LammpsTest, case_in_lammps_frame, main, models

RANKS = (1, 2, 3, 4)
TURNED = RANKS if LONG else (2, 3)


class Parity(LammpsTest):
    def check(self, model, crystal, ranks, seed=None, axes=(0, 1, 2)):
        structure, reference = model.case(crystal)
        if seed is not None:
            rotation = random_rotation(seed)
            structure = structure.rotated(rotation)
            reference = reference and reference.rotated(rotation)
        structure = structure.reordered(axes)
        alone = self.alone(structure, model.settings())
        known = reference and (model.turns or seed is None)
        expected = case_in_lammps_frame(structure, reference) if known else None
        for count in ranks:
            with self.subTest(ranks=count):
                found = self.decomposed(structure, model.settings(ranks=count))
                self.assert_same(found.reference, alone, structure.volume, note="against alone")
                if expected:
                    self.assert_within(
                        found.reference,
                        expected,
                        structure.volume,
                        model.case_bars,
                        note="against the case",
                    )
                count = found.exchanges["forward"] if model.exchanges is None else model.exchanges
                self.assertEqual(found.exchanges, {"forward": count, "backward": count})

    def check_all(self, ranks, **options):
        for model in models():
            for crystal in CRYSTALS:
                with self.subTest(model=model.name, crystal=crystal):
                    self.check(model, crystal, ranks, **options)

    def test_crystals_as_they_are(self):
        self.check_all(RANKS)

    def test_crystals_turned_and_with_other_vectors_along_x(self):
        self.check_all(TURNED, seed=2024, axes=(1, 2, 0))


if __name__ == "__main__":
    main()
