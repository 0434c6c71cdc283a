# SPDX-License-Identifier: GPL-2.0-only
"""What .ci/run hides from its tests: files beside the clone, headers of a CUDA toolkit."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INCLUDE = 'echo "#include <{}>" | {} -\n'
HOST = "${CXX:-c++} -std=c++20 -fsyntax-only -x c++"
NVCC = "nvcc -x cu -E -o /dev/null"


class ContinuousIntegration(unittest.TestCase):
    def run_ci(self, tests, **changes):
        """The finished .ci/run with the text `tests` in place of the tests."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(REPOSITORY / ".ci", Path(folder) / ".ci")
            (Path(folder) / "unittest").mkdir()
            (Path(folder) / "unittest" / "run.sh").write_text(tests)
            return subprocess.run(
                ["bash", ".ci/run"],
                cwd=folder,
                env={**os.environ, **changes},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=100,
            )

    def test_hands_on_no_files_from_beside_the_clone(self):
        finished = self.run_ci(
            'echo "${NVALCHEMI_FIXTURES:-none} ${CPATH:-none}"',
            NVALCHEMI_FIXTURES="/somewhere",
            CPATH="/opt/cuda/include",
        )
        self.assertEqual(finished.stdout, "none none\n")

    def test_the_compiler_finds_no_header_of_a_cuda_toolkit(self):
        for path in (REPOSITORY / ".ci" / "no_cuda").iterdir():
            finished = self.run_ci(INCLUDE.format(path.name, HOST))
            self.assertNotEqual(finished.returncode, 0, path.name)
            self.assertIn("a header of a CUDA toolkit: not on every machine", finished.stdout)

    def test_the_compiler_finds_its_other_headers(self):
        finished = self.run_ci(INCLUDE.format("vector", HOST))
        self.assertEqual(finished.returncode, 0, finished.stdout)

    @unittest.skipUnless(shutil.which("nvcc"), "nvcc is not on the path")
    def test_nvcc_finds_the_headers_of_its_toolkit(self):
        finished = self.run_ci(INCLUDE.format("cuda_runtime.h", NVCC))
        self.assertEqual(finished.returncode, 0, finished.stdout)

    def test_the_status_is_that_of_the_tests(self):
        self.assertEqual(self.run_ci("exit 3").returncode, 3)


if __name__ == "__main__":
    unittest.main()
