# SPDX-License-Identifier: GPL-2.0-only
"""Per-atom virials, heat flux and further per-atom outputs."""

import numpy as np
import scripted
from simulation import read_thermo, vectors
from suite import LammpsTest, cluster, main, model, scripted_model
from test_empty_ranks import CUBE_SYMBOLS, MOLECULE
from test_finite_differences import WEIGHTS, write_snapshots

NKTV2P = 1.6021765e6  # bar per eV/A^3
NAMES = ("toy_index_add", "nequip_rand_f64_energy", "allegro_rand_f64_energy", "d3bj_pbe")
SIX = " ".join(f"c_six[{k + 1}]" for k in range(6))


class PerAtom(LammpsTest):
    def test_per_atom_virials_sum_to_the_virial(self):
        for name in NAMES:
            archive = model(name)
            structure = archive.case("nacl64")[0]
            for newton in ("on", "off"):
                settings = archive.settings(ranks=3, newton=newton)
                run = self.run_structure(
                    structure,
                    settings,
                    [
                        "compute six all stress/atom NULL virial",
                        f"compute sum all reduce sum {SIX}",
                        "compute virial all pressure NULL virial",
                        "thermo_style custom step vol "
                        + " ".join(f"c_sum[{k + 1}] c_virial[{k + 1}]" for k in range(6)),
                        "thermo_modify format float %.17g",
                        "run 0",
                    ],
                )
                thermo = read_thermo(run.log)[0]
                total = np.array([-thermo[f"c_sum[{k + 1}]"][0] for k in range(6)])
                pressure = np.array([thermo[f"c_virial[{k + 1}]"][0] for k in range(6)])
                with self.subTest(model=name, newton=newton):
                    self.assert_close(total, pressure * thermo["Volume"][0])

    def test_per_atom_virials_do_not_depend_on_the_number_of_ranks(self):
        for name in ("toy_index_add", "d3bj_pbe"):
            archive = model(name)
            found = []
            for ranks, newton in ((1, "on"), (3, "on"), (2, "off")):
                self.run_structure(
                    archive.case("nacl64")[0],
                    archive.settings(ranks=ranks, newton=newton),
                    [
                        "compute six all stress/atom NULL virial",
                        f"dump six all custom 1 six.dump id {SIX}",
                        "dump_modify six sort id format float %.17g",
                        "run 0",
                    ],
                )
                found.append(vectors(self.snapshots("six.dump")[0], SIX))
            for other in found[1:]:
                self.assert_close(other, found[0], note=name)

    def test_further_outputs_through_fix_pair(self):
        d3 = model("d3bj_pbe")
        structure = d3.case("nacl64")[0]
        found = []
        for ranks in (1, 3):
            self.run_structure(
                structure,
                d3.settings(ranks=ranks),
                [
                    "fix cn all pair 1 nvalchemi coordination_numbers 0",
                    "dump cn all custom 1 cn.dump id f_cn",
                    "dump_modify cn sort id format float %.17g",
                    "run 0",
                ],
            )
            found.append(self.snapshots("cn.dump")[0]["f_cn"])
        self.assert_close(found[1], found[0])
        self.assertGreater(np.min(found[0]), 1.0)


class HeatFlux(LammpsTest):
    """J_virial of compute heat/flux against sum_k r_k (dU_k/dt + F_k v_k) of an open cluster."""

    def setUp(self):
        super().setUp()
        self.structure = cluster(CUBE_SYMBOLS, MOLECULE + [4.0, 4.0, 4.0], [12.0, 12.0, 12.0])
        self.velocities = np.random.default_rng(3).normal(scale=5.0, size=(8, 3))  # A/ps

    def velocity_lines(self):
        lines = []
        for k, (x, y, z) in enumerate(self.velocities):
            lines += [
                f"group one id {k + 1}",
                f"velocity one set {x:.17g} {y:.17g} {z:.17g} sum no",
                "group one delete",
            ]
        return lines

    def measure(self, archive):
        """(J_virial from LAMMPS, the same from central differences), eV A/ps."""
        time_step = 1e-5  # ps; displacements of some 1e-4 A
        x = self.structure.positions
        moved = [self.structure.translated(k * time_step * self.velocities) for k, _ in WEIGHTS]
        write_snapshots(self.folder / "moves.dump", moved, boundary="ff ff ff")
        settings = archive.settings(ranks=2, processors="2 1 1", pair_arguments="centroid yes")
        run = self.run_structure(
            self.structure,
            settings,
            [
                *self.velocity_lines(),
                "compute u all pe/atom",
                "compute k all ke/atom",
                "compute w all centroid/stress/atom NULL virial",
                "compute j all heat/flux k u w",
                "thermo_style custom step " + " ".join(f"c_j[{k + 1}]" for k in range(6)),
                "thermo_modify format float %.17g",
                "dump all all custom 1 all.dump id c_u fx fy fz",
                "dump_modify all sort id format float %.17g",
                "run 0",
                "uncompute j",
                "thermo_style one",
                "rerun moves.dump dump x y z box yes",
            ],
        )
        thermo = read_thermo(run.log)[0]
        flux = np.array([thermo[f"c_j[{k + 1}]"][0] - thermo[f"c_j[{k + 4}]"][0] for k in range(3)])
        first, *rest = self.snapshots("all.dump")
        rate = (
            sum(
                weight * snapshot["c_u"]
                for (_, weight), snapshot in zip(WEIGHTS, rest, strict=True)
            )
            / time_step
        )
        power = np.sum(vectors(first, "fx fy fz") * self.velocities, axis=1)
        return flux, (rate + power) @ x

    def test_one_message_layer(self):
        archives = [
            model("allegro_rand_f64_energy"),
            scripted_model("one_layer", scripted.LAYER, 0),
        ]
        for archive in archives:
            if archive.exchanges == 0:
                with self.subTest(model=archive.name):
                    flux, expected = self.measure(archive)
                    self.assert_close(flux, expected, 1e-6)

    def test_three_message_layers(self):
        archives = [scripted_model("three_layers", scripted.LAYER * 3, 2), model("toy_index_add")]
        for archive in archives:
            with self.subTest(model=archive.name):
                flux, expected = self.measure(archive)
                self.assert_close(flux, expected, 1e-6)

    def test_without_the_keyword_it_is_refused(self):
        archive = scripted_model("two_layers", scripted.TWO_LAYERS, 1)
        self.write_structure(self.structure)
        run = self.run_input(
            self.script(
                self.structure,
                archive.settings(ranks=2),
                [
                    "compute w all centroid/stress/atom NULL virial",
                    "compute s all reduce sum c_w[1]",
                    "thermo_style custom step c_s",
                    "run 0",
                ],
            ),
            2,
        )
        self.assertNotEqual(run.status, 0)
        self.assertIn("centroid", run.message)


if __name__ == "__main__":
    main()
