# SPDX-License-Identifier: GPL-2.0-only
"""Keyword overlap: the same bits with and without it, on any number of ranks; failures; faults."""

import re

import scripted
from suite import LONG, LammpsTest, main, model, scripted_model
from test_rank_failure import SECONDS, two_molecules

# After a layer, edge features that do not depend on it: they run while its features are exchanged.
# They cannot be computed on a rank that sees two atoms closer than 1.5 Angstrom.
THROWS_MEANWHILE = (
    scripted.LAYER
    + """
    s = h[j] @ self.w
    close = (r < 1.5).to(i.dtype) * 3
    radial = torch.erf(m) * self.e[close]
    h = h + torch.zeros_like(h).index_add(0, i, s * radial)
"""
    + scripted.LAYER
)


def archives():
    names = ["toy_index_add", "sevennet_0_f64"]
    if LONG:
        names += ["mace_rand_f64", "nequip_rand_f64", "allegro_rand_f64_energy", "d3bj_pbe"]
    return names


class Overlap(LammpsTest):
    def numbers(self, archive, structure, ranks, overlap, environment=None):
        """Energies and forces of a step from another structure's, and the log."""
        settings = archive.settings(
            ranks=ranks, pair_arguments=f"device cpu overlap {overlap} verbose yes"
        )
        lines = [
            "compute atomic all pe/atom",
            "compute virial all pressure NULL virial",
            "thermo_style custom step pe c_virial[1] c_virial[4]",
            "thermo_modify format float %.17g",
            "dump all all custom 1 all.dump id type fx fy fz c_atomic",
            "dump_modify all sort id format float %.17g",
            "velocity all create 300 1234 loop geom",
            "fix move all nve",
            "timestep 0.0005",
            "thermo 1",
            "run 2",
        ]
        self.write_structure(structure)
        run = self.run_input(
            self.script(structure, settings, lines), ranks, environment=environment
        )
        run.require_success()
        thermo = re.findall(r"(?m)^ +[012] +-?[0-9].*$", run.log)
        self.assertEqual(len(thermo), 3, run.log)
        return thermo, (self.folder / "all.dump").read_text(), run.log

    def test_same_bits_on_any_number_of_ranks(self):
        for name in archives():
            archive = model(name)
            structure = archive.case("nacl64")[0]
            for ranks in (1, 2, 3, 4):
                if name != "toy_index_add" and ranks != 2 and not LONG:
                    continue
                with self.subTest(archive=name, ranks=ranks):
                    plain = self.numbers(archive, structure, ranks, "no")
                    overlapped = self.numbers(archive, structure, ranks, "yes")
                    self.assertEqual(overlapped[0], plain[0])
                    self.assertEqual(overlapped[1], plain[1])
                    self.assertNotIn("meanwhile", plain[2])
                    if name.startswith(("sevennet", "mace", "nequip")):
                        moved = re.findall(r", meanwhile ([0-9]+) operators", overlapped[2])
                        self.assertEqual(len(moved), archive.exchanges, overlapped[2])

    def test_comparison_sees_the_last_bits(self):
        """The control: a fault of the exchange that rounds rows changes the text."""
        toy = model("toy_index_add")
        structure = toy.case("nacl64")[0]
        plain = self.numbers(toy, structure, 2, "yes")
        rounded = self.numbers(
            toy, structure, 2, "yes", environment={"NVALCHEMI_FAULT": "round_rows"}
        )
        self.assertNotEqual(rounded[1], plain[1])

    def test_validator_passes_and_finds_planted_faults(self):
        toy = scripted_model("meanwhile", THROWS_MEANWHILE, None)
        structure = scripted.crystal("nacl64")
        settings = toy.settings(ranks=2, pair_arguments="device cpu overlap yes")
        self.write_structure(structure)
        script = self.script(
            structure, settings, ["fix check all nvalchemi/validate every 1", "run 1"]
        )
        self.run_input(script, 2).require_success()
        run = self.run_input(script, 2, environment={"NVALCHEMI_FAULT": "drop_forward"})
        self.assertNotIn(run.status, (0, None), run.message)

    def test_rank_that_throws_meanwhile_ends_all(self):
        archive = scripted_model("throws_meanwhile", THROWS_MEANWHILE, None)
        for ranks in (2, 3):
            settings = archive.settings(
                ranks=ranks,
                processors=f"{ranks} 1 1",
                pair_arguments="device cpu overlap yes verbose yes",
            )
            runs = []
            for distance in (2.6, 1.2):
                structure = two_molecules(distance)
                self.write_structure(structure)
                runs.append(
                    self.run_input(self.script(structure, settings, ["run 0"]), ranks, timeout=120)
                )
            usual, failing = runs
            usual.require_success()
            self.assertRegex(usual.log, r"halo_forward, .*, meanwhile [0-9]+ operators")
            self.assertNotIn(failing.status, (0, None), failing.message)
            self.assertRegex(" ".join(failing.message.split()), f"rank {ranks - 1}: .*index")
            self.assertLess(failing.seconds, usual.seconds + SECONDS)


if __name__ == "__main__":
    main()
