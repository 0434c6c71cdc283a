# SPDX-License-Identifier: GPL-2.0-only
"""nvalchemi/kk on a GPU: CUDA graphs and memory. Skipped without one, see test_kokkos.py."""

import json
import os
import re
from pathlib import Path

import numpy as np
from comparison import kokkos_arguments
from named_inputs import BY_VARIABLE, VARIABLES, InputTest
from simulation import RunFailed, read_thermo, vectors
from suite import LONG, main, model, models, one_line, scripted_model
from test_kokkos import GPU_BAR, GPUS, HALF, HOST_BAR, SKIPPED, KokkosTest

# how many edges are near is a number on the GPU that the host has to wait for
WAITS = """
    k = r < 4.0
    g = (m * (torch.relu(4.0 - r) ** 3).unsqueeze(-1))[k]
    h = h + torch.zeros_like(h).index_add(0, i[k], (h[j[k]] @ self.w) * g)
"""


class Graphs(KokkosTest):
    """CUDA graphs: the same numbers as without, for all archives, while edges come and go."""

    LINES = (
        "velocity all create 600 4711 loop geom",
        "neigh_modify every 1 delay 0 check yes",
        "fix move all nve",
        "compute energy all pe/atom",
        "thermo_style custom step pe press",
        "thermo 5",
        "dump out all custom 5 out.dump id c_energy fx fy fz",
        "dump_modify out sort id format float %.17g",
        "run 20",
    )

    def simulate(self, archive, use, style, device, ranks=1, overlap="no"):
        structure = archive.case("nacl64")[0]
        if style.endswith("kk"):
            arguments = f"graphs {use} overlap {overlap}"
            settings = self.kokkos_settings(archive, ranks, style=style, pair_arguments=arguments)
            run = self.kokkos_run(structure, settings, self.LINES)
        else:
            settings = archive.settings(ranks=1, pair_arguments=f"device {device} graphs {use}")
            run = self.run_structure(structure, settings, self.LINES)
        last = self.snapshots("out.dump")[-1]
        return run.log, read_thermo(run.log)[0], vectors(last, "c_energy fx fy fz")

    def check(self, archive, style, device="cuda", ranks=1, overlap="no"):
        log, thermo, atoms = self.simulate(archive, "yes", style, device, ranks, overlap)
        plain_log, plain_thermo, plain_atoms = self.simulate(archive, "no", style, device, ranks)
        with self.subTest(model=archive.name, style=style, ranks=ranks, overlap=overlap):
            self.assertIn("20 of them replayed a CUDA graph", log)
            self.assertNotIn("CUDA graph", plain_log)
            # what rounding makes of 20 steps
            self.assert_close(thermo["PotEng"], plain_thermo["PotEng"], 1e-9)
            self.assert_close(thermo["Press"], plain_thermo["Press"], 1e-7)
            self.assert_close(atoms, plain_atoms, 1e-7)

    def refuse(self, archive, style):
        with self.assertRaisesRegex(RunFailed, "because the model sees copies of atoms as rows"):
            self.simulate(archive, "yes", style, "cuda")

    def setUp(self):
        super().setUp()
        if not GPUS:
            self.skipTest("needs a GPU")

    def test_the_host_style_with_the_model_on_the_gpu(self):
        self.check(model("toy_index_add"), "nvalchemi")

    def test_rows_that_travel_through_the_host_are_no_part_of_a_graph(self):
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        settings = self.kokkos_settings(archive, 2, pair_arguments="halo_comm mpi")
        run = self.kokkos_run(structure, settings, ["run 1"])
        self.assertIn("no CUDA graph: rows travel between 2 ranks through host", one_line(run.log))
        settings = self.kokkos_settings(archive, 2, pair_arguments="halo_comm mpi graphs yes")
        arguments = kokkos_arguments(settings)
        run = self.run_input(self.script(structure, settings, ["run 1"]), 2, arguments=arguments)
        self.assertIn("keyword graphs: got yes, expected auto or no", one_line(run.message))

    def test_rows_that_travel_from_gpu_to_gpu_are_a_part_of_a_graph(self):
        if int(GPUS) < 2:
            self.skipTest("needs two GPUs")
        folded = [archive for archive in models() if not sees_raw_rows(archive)]
        self.assertGreater(len(folded), 3)
        for archive in folded:
            for overlap in ("no", "yes"):
                self.check(archive, "nvalchemi/kk", ranks=2, overlap=overlap)

    def test_a_model_that_waits_for_the_gpu_does_without(self):
        archive = scripted_model("waits", WAITS, 0)
        structure = archive.case("nacl64")[0]
        run = self.kokkos_run(structure, self.kokkos_settings(archive, 1), ["run 3"])
        self.assertRegex(one_line(run.log), "no CUDA graph: operator .*captur")


def sees_raw_rows(archive):
    return json.loads(Path(archive.archive).with_suffix(".card.json").read_text())["rows"] == "raw"


def one_archive(archive):
    raw = sees_raw_rows(archive)
    return lambda self: (self.refuse if raw else self.check)(archive, "nvalchemi/kk")


for each in models() if GPUS else ():
    setattr(Graphs, f"test_{each.name}", one_archive(each))


class Transports(KokkosTest):
    """The same numbers whichever way rows travel, and with more ranks than GPUs."""

    def setUp(self):
        super().setUp()
        if not GPUS:
            self.skipTest("needs a GPU")
        self.crystal = model("toy_index_add").case("nacl64")[0]

    def numbers(self, archive, ranks, comm="auto"):
        settings = self.kokkos_settings(archive, ranks, pair_arguments=f"halo_comm {comm}")
        return self.decomposed(self.crystal, settings).reference

    def assert_the_same(self, found, expected):
        self.assert_same(found, expected, self.crystal.volume, HOST_BAR)

    def test_staging_on_the_host_and_nccl(self):
        if int(GPUS) < 2:
            self.skipTest("needs two GPUs")
        for name in ("toy_index_add", "mace_rand_f64", "nequip_rand_f64_energy"):
            with self.subTest(model=name):
                archive = model(name)
                self.assert_the_same(
                    self.numbers(archive, 2, "nccl"), self.numbers(archive, 2, "mpi")
                )

    def forces_after_steps(self, archive, delays=None, overlap="yes"):
        """(atoms, 3) after 5 steps on 2 GPUs; `delays`: see doc/developer.rst."""
        if delays is not None:
            os.environ["NVALCHEMI_GPU_DELAYS"] = delays
            self.addCleanup(os.environ.pop, "NVALCHEMI_GPU_DELAYS", None)
        words = f"overlap {overlap} graphs no"
        lines = [
            "velocity all create 900 4711 loop geom",
            "fix move all nve",
            "dump out all custom 5 out.dump id fx fy fz",
            "dump_modify out sort id format float %.17g",
            "run 5",
        ]
        settings = self.kokkos_settings(archive, 2, pair_arguments=words)
        try:
            self.kokkos_run(self.crystal, settings, lines)
        finally:
            os.environ.pop("NVALCHEMI_GPU_DELAYS", None)
        return vectors(self.snapshots("out.dump")[-1], "fx fy fz")

    def test_streams_that_stand_still_at_random(self):
        if int(GPUS) < 2:
            self.skipTest("needs two GPUs")
        for name in ("toy_index_add", "mace_rand_f64"):
            archive = model(name)
            plain = self.forces_after_steps(archive, overlap="no")
            for seed in range(1, 5):
                with self.subTest(model=name, seed=seed):
                    found = self.forces_after_steps(archive, str(seed))
                    # rounding, of sums without an order, after 5 steps
                    self.assert_close(found, plain, 1e-11)

    def test_streams_that_do_not_wait_for_each_other_are_seen(self):
        if int(GPUS) < 2:
            self.skipTest("needs two GPUs")
        archive = model("toy_index_add")
        plain = self.forces_after_steps(archive, overlap="no")
        with self.assertRaises((AssertionError, RunFailed)):
            for seed in range(1, 5):
                found = self.forces_after_steps(archive, f"{seed},unordered")
                self.assert_close(found, plain, 1e-11)

    def test_launches_that_wait_for_their_end(self):
        archive = model("toy_index_add")
        plain = self.numbers(archive, 2)
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
        self.addCleanup(os.environ.pop, "CUDA_LAUNCH_BLOCKING", None)
        self.assert_the_same(self.numbers(archive, 2), plain)

    def test_more_ranks_than_gpus(self):
        archive = model("toy_index_add")
        alone = self.numbers(archive, 1)
        for ranks in (2, 4, 8):
            with self.subTest(ranks=ranks):
                self.assert_same(self.numbers(archive, ranks), alone, self.crystal.volume, GPU_BAR)

    def test_energy_is_kept_as_on_the_host(self):
        archive = model("toy_index_add")
        structure = self.crystal.repeated((2, 2, 2))
        lines = [
            "velocity all create 300 4711 loop geom",
            "neigh_modify every 1 delay 0 check yes",
            "fix move all nve",
            "thermo_style custom step etotal",
            "thermo 20",
            f"run {5000 if LONG else 200}",
        ]
        host_settings = archive.settings(ranks=2, pair_arguments="device cpu")
        host = self.run_structure(structure, host_settings, lines)
        gpu = self.kokkos_run(structure, self.kokkos_settings(archive, 2), lines)
        spread = {}
        for name, run in (("host", host), ("gpu", gpu)):
            energies = read_thermo(run.log)[0]["TotEng"]
            spread[name] = np.ptp(energies) / len(structure)
        print(f"spread of the energy in eV an atom: {spread}")
        self.assertLess(spread["gpu"], 1.5 * spread["host"])


class NamedInputs(InputTest):
    """Values that a model is given by variables, at every step, with and without a graph."""

    LINES = (
        "velocity all create 600 4711 loop geom",
        "fix move all nve",
        "thermo_style custom step pe",
        "thermo 5",
        "dump out all custom 10 out.dump id fx fy fz",
        "dump_modify out sort id format float %.17g",
        "run 10",
    )

    def simulate(self, words, ranks=1, **options):
        lines = (*VARIABLES, "variable rising equal 0.1*step")
        words = f"{words} {BY_VARIABLE} input field v_one v_rising 0.5"
        settings = self.settings(words, ranks, lines, **options)
        arguments = kokkos_arguments(settings) if options else []
        self.installation.lammps = os.environ["NVALCHEMI_KOKKOS_LAMMPS"]
        run = self.run_structure(self.structure, settings, self.LINES, arguments=arguments)
        return run.log, read_thermo(run.log)[0]["PotEng"], self.snapshots("out.dump")[-1]

    def test_are_those_of_the_host(self):
        if not GPUS:
            self.skipTest("needs a GPU")
        _, energies, atoms = self.simulate("device cpu")
        kokkos = {"style": "nvalchemi/kk", "kokkos": f"on g {GPUS} {HALF} gpu/aware off"}
        for ranks, graphs in ((1, "no"), (1, "yes"), (2, "no")):
            log, found, last = self.simulate(f"graphs {graphs}", ranks, **kokkos)
            with self.subTest(ranks=ranks, graphs=graphs):
                self.assertEqual("replayed a CUDA graph" in log, graphs == "yes")
                self.assert_close(found, energies, 1e-9)
                self.assert_close(vectors(last, "fx fy fz"), vectors(atoms, "fx fy fz"), 1e-8)
        self.assertGreater(np.ptp(energies), 1e-3)


class Memory(KokkosTest):
    def test_too_many_atoms_for_the_gpu(self):
        if not GPUS:
            self.skipTest("needs a GPU")
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0].repeated((6, 6, 6))
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "per_process_memory_fraction:0.0005"
        self.addCleanup(os.environ.pop, "PYTORCH_CUDA_ALLOC_CONF", None)
        for ranks in (1, 2):
            settings = self.kokkos_settings(archive, ranks)
            self.write_structure(structure)
            arguments = kokkos_arguments(settings)
            script = self.script(structure, settings, ["run 0"])
            run = self.run_input(script, ranks, arguments=arguments)
            self.assertNotEqual(run.status, 0)
            self.assertRegex(
                one_line(run.message),
                r"out of GPU memory with \d+ atoms, \d+ halo rows and \d+ edges on this rank.*"
                r"total capacity of .*Use more GPUs",
            )

    def test_memory_stays_while_shapes_change(self):
        if not GPUS:
            self.skipTest("needs a GPU")
        archive = model("toy_index_add")
        structure = archive.case("nacl64")[0]
        steps = 2000 if LONG else 200
        lines = [
            "velocity all create 1500 4711 loop geom",
            "neigh_modify every 1 delay 0 check yes",
            "fix move all nve",
            *[f"run {steps}" for _ in range(5)],
        ]
        for use in ("yes", "no"):
            settings = self.kokkos_settings(archive, 1, pair_arguments=f"graphs {use}")
            run = self.kokkos_run(structure, settings, lines)
            used = [float(x) for x in re.findall(r"in use \(min/avg/max\): ([\d.]+)/", run.log)]
            self.assertEqual(len(used), 5)
            with self.subTest(graphs=use):
                self.assertLessEqual(used[-1], used[1] + 0.005, f"GiB in use: {used}")


if __name__ == "__main__":
    if not GPUS:
        print("SKIPPED: no GPU (NVALCHEMI_KOKKOS_GPUS)")
        raise SystemExit(SKIPPED)
    main()
