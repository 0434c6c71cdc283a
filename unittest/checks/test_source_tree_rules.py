# SPDX-License-Identifier: GPL-2.0-only
"""Each rule turns red on a planted violation and stays green on a clean tree."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import include_rule
import text_rules
from source_tree import REPOSITORY, TOP_FILES, TOP_FOLDERS, list_files

LICENCE = "// SPDX-License-Identifier: GPL-2.0-only\n"


class PlantedTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, name, text):
        """Write a file; '~' in it vanishes, so that this file itself breaks no rule."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("~", ""))

    def findings(self, rule):
        return [str(finding) for finding in rule.check(self.root)]

    def expect(self, rule, *expected):
        found = self.findings(rule)
        self.assertEqual(len(found), len(expected), found)
        for text, part in zip(found, expected, strict=True):
            self.assertIn(part, text)


class SourceTree(PlantedTree):
    """Files that are not the project's are no matter of the checks."""

    SOURCES = ["README.md", "spec/a.hpp", "unittest/run.sh"]

    def setUp(self):
        super().setUp()
        for name in self.SOURCES:
            self.plant(name, LICENCE)
        shutil.copy(REPOSITORY / ".gitignore", self.root)
        for number in range(1000):
            self.plant(f"v/lib/package{number % 30}/m{number}.py", "TO~DO = '/ro~ot/x'\n")
        for name in (
            "in.file log.lammps log.cite model.pt report.json build/CMakeCache.txt "
            "examples/lammps/output/log.lammps examples/lammps/minimal/log.lammps "
            "spec/__pycache__/a.py unittest/docs/energies.dump"
        ).split():
            self.plant(name, "/ro~ot/x\n")

    def expect_sources(self, sources=SOURCES):
        found = [str(path) for path in list_files(self.root)]
        self.assertEqual(found, sorted([".gitignore", *sources]))
        for rule in (include_rule, text_rules):
            self.expect(rule)

    def git(self, *arguments):
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_without_git_they_are_known_by_their_folders_and_names(self):
        self.plant("my_venv/lib/module.py", "TO~DO\n")
        self.plant("notes.txt", "/ro~ot/x\n")
        self.expect_sources()

    @unittest.skipUnless(shutil.which("git"), "git is not on the path")
    def test_in_a_checkout_they_are_what_git_does_not_track(self):
        self.git("init", "--quiet")
        self.git("add", ".")
        self.plant("spec/new.hpp", "TO~DO\n")
        self.expect_sources()

        self.plant("spec/new.hpp", LICENCE)
        self.git("add", "spec/new.hpp")
        self.expect_sources([*self.SOURCES, "spec/new.hpp"])

    @unittest.skipUnless(shutil.which("git"), "git is not on the path")
    def test_git_says_nothing_of_what_the_pages_have_one_make(self):
        self.git("init", "--quiet")
        self.git("add", *self.SOURCES, ".gitignore")
        self.assertEqual(self.git("ls-files", "--others", "--exclude-standard"), "")

    def test_a_checkout_without_git_is_read_like_a_release(self):
        (self.root / ".git").mkdir()
        self.expect_sources()

    def test_the_folders_and_files_at_the_top_are_those_of_this_tree(self):
        tops = {path.parts[0] for path in list_files(REPOSITORY)}
        self.assertEqual(tops, {*TOP_FOLDERS, *TOP_FILES})

    def test_no_file_of_this_tree_is_ignored(self):
        files = list_files(REPOSITORY)
        release = self.root / "release"
        for path in files:
            (release / path).parent.mkdir(parents=True, exist_ok=True)
            (release / path).touch()
        shutil.copy(REPOSITORY / ".gitignore", release)
        self.assertEqual(list_files(release), files)


class IncludeRule(PlantedTree):
    def test_accepts_what_each_layer_may_use(self):
        self.plant("spec/a.hpp", '#include <vector>\n#include "spec/b.hpp"\n')
        self.plant("spec/a.cpp", "#include <nlohmann/json.hpp>\n")
        self.plant("kernels/k.cpp", '#include <torch/library.h>\n#include "spec/a.hpp"\n')
        self.plant("potentials/p.hpp", '#include "kernels/k.hpp"\n')
        self.plant(
            "src/USER-NVALCHEMI/pair.cpp",
            '#include "pair.h"\n#include <mpi.h>\n#include "potentials/p.hpp"\n',
        )
        self.expect(include_rule)

    def test_rejects_a_higher_layer(self):
        self.plant("spec/a.hpp", '#include "kernels/k.hpp"\n')
        self.plant("kernels/k.cpp", '\n#include "potentials/p.hpp"\n')
        self.plant("potentials/p.cpp", '#include "src/USER-NVALCHEMI/pair.h"\n')
        self.expect(
            include_rule,
            "kernels/k.cpp:2: kernels/ must not include potentials/p.hpp",
            "potentials/p.cpp:1: potentials/ must not include src/USER-NVALCHEMI/pair.h",
            "spec/a.hpp:1: spec/ must not include kernels/k.hpp",
        )

    def test_rejects_mpi_and_lammps_below_the_glue(self):
        self.plant("kernels/k.cpp", "#include <mpi.h>\n")
        self.plant("potentials/p.cpp", '#include "lammps.h"\n')
        self.expect(include_rule, "must not include mpi.h", "must not include lammps.h")

    def test_rejects_torch_in_spec_and_json_in_a_header(self):
        self.plant("potentials/p.hpp", "#include <nlohmann/json.hpp>\n")
        self.plant("spec/a.cpp", "#  include <torch/script.h>\n")
        self.expect(
            include_rule, "must not include nlohmann/json.hpp", "must not include torch/script.h"
        )

    def test_rejects_torch_that_the_glue_reaches_through_a_header(self):
        self.plant("potentials/internal.hpp", "#include <torch/script.h>\n")
        self.plant("potentials/p.hpp", '#include "potentials/internal.hpp"\n')
        self.plant("src/USER-NVALCHEMI/pair.h", '#include "potentials/p.hpp"\n')
        self.expect(
            include_rule, "pair.h -> potentials/p.hpp -> potentials/internal.hpp -> torch/script.h"
        )

    def test_allows_kokkos_in_kokkos_files_only(self):
        self.plant("src/USER-NVALCHEMI/pair_kokkos.cpp", "#include <Kokkos_Core.hpp>\n")
        self.plant("src/USER-NVALCHEMI/pair.cpp", "#include <Kokkos_Core.hpp>\n")
        self.expect(include_rule, "USER-NVALCHEMI/pair.cpp:1:")

    def test_allows_headers_of_a_cuda_toolkit_where_its_compiler_reads_them(self):
        for name in ("rows.cu", "nccl.cuh", "cuda13_kokkos.h"):
            self.plant(f"src/USER-NVALCHEMI/{name}", "#include <cuda_runtime.h>\n")
        self.plant("src/USER-NVALCHEMI/other.cu", '#include "nccl.cuh"\n#include "cuda_rows.h"\n')
        self.plant("src/USER-NVALCHEMI/rows.cpp", '#include "cuda_rows.h"\n')
        self.expect(include_rule)

        self.plant("src/USER-NVALCHEMI/cuda_rows.h", "\n#include <cuda_runtime.h>\n")
        self.plant("src/USER-NVALCHEMI/rows.cpp", '#include "nccl.cuh"\n')
        self.expect(
            include_rule,
            "USER-NVALCHEMI/cuda_rows.h:2: src/USER-NVALCHEMI/ must not include cuda_runtime.h",
            "USER-NVALCHEMI/rows.cpp:1: src/USER-NVALCHEMI/ must not include nccl.cuh",
        )


class TextRules(PlantedTree):
    def test_accepts_a_clean_tree(self):
        self.plant("spec/a.hpp", LICENCE + "int a;  // ${x}/work/y, see CHANGELOG.md\n")
        self.plant("unittest/run.sh", "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0-only\n")
        self.plant(
            "CHANGELOG.md", "The issue with 3 ranks: https://docs.lammps.org/Developer.html\n"
        )
        self.expect(text_rules)

    def test_requires_the_licence_line(self):
        self.plant("spec/a.hpp", "int a;\n")
        self.plant("cmake/tool.py", "\n\n# SPDX-License-Identifier: GPL-2.0-only\n")
        self.expect(text_rules, "cmake/tool.py:1: the first line", "spec/a.hpp:1: the first line")

    def test_limits_the_length_of_code(self):
        self.plant("spec/a.cpp", LICENCE + "\n" * 500)
        self.plant("spec/b.cpp", LICENCE + "\n" * 499)
        self.plant("doc/guide.m" + "d", "\n" * 600)
        self.expect(text_rules, "spec/a.cpp:501: has 501 lines")

    def test_rejects_open_ends_and_what_only_its_authors_know(self):
        planted = (
            "TO~DO: later|see /ro~ot/x|in /ho~me/me|issue ~#3|from py~pi.org|eng~ineer A|Cl~aude"
        )
        for line in planted.split("|"):
            with self.subTest(line):
                self.plant("CHANGELOG.md", f"fine\n{line}\n")
                self.expect(text_rules, "CHANGELOG.md:2: ")

    def test_rejects_unknown_hosts(self):
        self.plant("CHANGELOG.md", "https:~//example.com/x\n")
        self.expect(text_rules, "links to example.com")

    def test_rejects_a_mention_of_a_document_that_does_not_exist(self):
        self.plant("spec/a.hpp", LICENCE + "// see notes.~md\n")
        self.plant("spec/b.cpp", LICENCE + 'open("some.~md");\n')
        self.expect(text_rules, "spec/a.hpp:2: mentions notes")


class Program(PlantedTree):
    def run_on_tree(self):
        finished = subprocess.run(
            [sys.executable, Path(__file__).with_name("check_source_tree.py"), self.root],
            capture_output=True,
            text=True,
        )
        return finished.returncode, finished.stdout

    def test_tells_each_finding_and_fails(self):
        self.plant("spec/a.hpp", "int a;\n")
        status, output = self.run_on_tree()
        self.assertEqual(status, 1)
        self.assertIn("spec/a.hpp:1: the first line", output)

    def test_passes_a_clean_tree(self):
        self.plant("spec/a.hpp", LICENCE)
        self.assertEqual(self.run_on_tree(), (0, "0 findings in 1 files\n"))

    def test_fails_where_there_is_nothing_to_check(self):
        status, output = self.run_on_tree()
        self.assertEqual(status, 1)
        self.assertIn("there is nothing to check, expected a source tree", output)


if __name__ == "__main__":
    unittest.main()
