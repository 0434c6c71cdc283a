# SPDX-License-Identifier: GPL-2.0-only
"""The job scripts of examples/slurm, run with a stand-in for srun that says how it was called."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "slurm"
SRUN = """#!/bin/bash
echo "srun $*"
env | grep ^OMP_ | sort
"""


def options_of(script):
    """{name: value} of the #SBATCH lines."""
    return dict(
        re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?$", (SCRIPTS / script).read_text(), re.M)
    )


def run(script, *arguments, **environment):
    """The script as Slurm runs it on the first node: with variables from its options."""
    options = options_of(script)
    variables = {
        "SLURM_CPUS_PER_TASK": options["cpus-per-task"],
        "SLURM_NTASKS_PER_NODE": options["ntasks-per-node"],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("srun", SRUN), ("module", "#!/bin/sh\nexit 0\n")):
            (Path(folder) / name).write_text(text)
            (Path(folder) / name).chmod(0o755)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "SLURM_"))}
        path = {"PATH": f"{folder}:{os.environ['PATH']}"}
        return subprocess.run(
            ["bash", str(SCRIPTS / script), *arguments],
            env={**inherited, **variables, **path, **environment},
            capture_output=True,
            text=True,
        )


class Scripts(unittest.TestCase):
    def test_each_script_is_run_here(self):
        self.assertEqual({path.name for path in SCRIPTS.iterdir()}, {"cpu.sbatch", "gpu.sbatch"})

    def test_ranks_on_cpus_get_their_cores_and_a_thread_for_each(self):
        result = run("cpu.sbatch", "in.file")

        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            result.stdout.splitlines(),
            [
                "srun --cpus-per-task=2 --cpu-bind=cores lmp -in in.file",
                "OMP_NUM_THREADS=2",
                "OMP_PLACES=cores",
                "OMP_PROC_BIND=close",
                "OMP_WAIT_POLICY=passive",
            ],
        )

    def test_ranks_and_their_cores_fill_the_node_that_the_script_speaks_of(self):
        options = options_of("cpu.sbatch")
        cores = int(options["ntasks-per-node"]) * int(options["cpus-per-task"])

        text = (SCRIPTS / "cpu.sbatch").read_text()

        self.assertIn(f"{options['nodes']} nodes of {cores} cores", text)

    def test_there_is_one_rank_for_each_gpu_and_each_sees_all(self):
        options = options_of("gpu.sbatch")

        result = run("gpu.sbatch", "in.file")

        self.assertEqual(options["gres"], f"gpu:{options['ntasks-per-node']}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(
            result.stdout.splitlines(),
            [
                "srun --cpus-per-task=8 --cpu-bind=cores --gpu-bind=none lmp -in in.file",
                "OMP_NUM_THREADS=1",
            ],
        )

    def test_kokkos_is_told_the_number_of_gpus(self):
        result = run("gpu.sbatch", "in.file", KOKKOS="yes")

        self.assertIn("lmp -in in.file -k on g 4 -sf kk -pk kokkos gpu/aware off", result.stdout)

    def test_a_script_without_an_input_says_how_it_is_called(self):
        for script in ("cpu.sbatch", "gpu.sbatch"):
            result = run(script)

            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(f"name the LAMMPS input: sbatch {script} in.file", result.stderr)


if __name__ == "__main__":
    unittest.main()
