# SPDX-License-Identifier: GPL-2.0-only
"""The README followed to the letter in a fresh clone, as far as it takes seconds; with --long, all.

Here `build` is a link to the build that is tested, and v/ an environment without the package.
"""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from readme import (
    COMMANDS,
    INPUT,
    command_blocks,
    findings,
    fresh_clone,
    in_order,
    minimal_input,
    run_shell,
    session,
    shown_output,
)
from run_doc_inputs import PageError

BUILD = os.environ.get("NVALCHEMI_BUILD_DIR", "")
PIP, INSTALLED, DEMO, TESTS, SOURCE, MINIMAL = COMMANDS
RANKS_OF_SHOWN_OUTPUT = 2


def without_numbers(line):
    """A line of output with every number, and the dash in its place, as #."""
    return " ".join(re.sub(r"(?<!\S)-(?!\S)|-?\d+(\.\d+)?(e[-+]\d+)?", "#", line).split())


def scratch(test):
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    test.addCleanup(folder.cleanup)
    return Path(folder.name).resolve()


class Commands(unittest.TestCase):
    def read(self, text):
        path = scratch(self) / "README.md"
        path.write_text(text)
        return command_blocks(path)

    def test_every_command_of_the_readme_is_known_and_every_known_one_is_there(self):
        commands = [command for block in command_blocks() for command in block]
        self.assertEqual(sorted(commands), sorted(COMMANDS))

    def test_an_unknown_command_is_an_error(self):
        with self.assertRaisesRegex(
            PageError, r"README.md:4: got 'rm -rf build', which no test knows; expected a command"
        ):
            self.read(f"text\n\n    {DEMO}    # comment\n    rm -rf build\n")

    def test_output_prerequisites_fences_and_paragraphs_are_no_commands(self):
        others = (
            "    sudo apt-get install -y g++",
            "    nvalchemi: model x\n      ...",
            "```LAMMPS\n\n    units metal\n```",
            "* a list\n    that goes on",
        )
        for other in others:
            blocks = self.read(f"    {SOURCE}\n\n{other}\n\n    {MINIMAL}\n")
            self.assertEqual(blocks, [[SOURCE], [MINIMAL]], other)


class Order(unittest.TestCase):
    BLOCKS = [[PIP, INSTALLED], [DEMO, TESTS], [SOURCE, MINIMAL]]

    def test_as_in_the_readme(self):
        self.assertEqual(
            in_order(self.BLOCKS), [[PIP, INSTALLED], [DEMO], [TESTS], [SOURCE, MINIMAL]]
        )

    def test_in_reverse_the_minimal_input_follows_the_first_build(self):
        self.assertEqual(
            in_order(self.BLOCKS, reverse=True),
            [[TESTS], [SOURCE, MINIMAL], [DEMO], [PIP, INSTALLED]],
        )

    def test_nothing_makes_the_build(self):
        with self.assertRaisesRegex(PageError, "no command makes the build that"):
            in_order([[SOURCE, MINIMAL]], reverse=True)

    def test_the_input_is_saved_before_it_is_read_and_tests_are_the_quick_ones(self):
        script = session(in_order(self.BLOCKS, reverse=True), "run 0\n")
        self.assertEqual(
            [line for line in script.splitlines() if not line.startswith("echo")],
            ["set -e", TESTS + " --quick", "cat >in.file <<'END'", "run 0", "END"]
            + [SOURCE, MINIMAL, DEMO, PIP, INSTALLED],
        )

    def test_a_session_that_takes_too_long_is_ended(self):
        finished = run_shell("echo begun; sleep 100", scratch(self), 1)
        self.assertEqual((finished.returncode, finished.stdout), (124, "begun\n"))

    def test_a_command_that_fails_ends_the_session(self):
        folder = scratch(self)
        (folder / "build").mkdir()
        (folder / "build" / "env.sh").write_text("mpiexec() { echo ran; return 3; }\n")
        finished = run_shell(session([[SOURCE, MINIMAL], [PIP]], ""), folder, 60)

        self.assertEqual(finished.returncode, 3)
        self.assertEqual(finished.stdout, f"$ {SOURCE}\n$ {MINIMAL}\nran\n")


class Followed(unittest.TestCase):
    def setUp(self):
        self.clone = fresh_clone(scratch(self))

    def shell(self, script):
        finished = run_shell(f"set -e\n{script}", self.clone, 400)
        self.assertEqual(finished.returncode, 0, finished.stdout[-4000:])
        return finished.stdout

    def run_minimal(self, ranks):
        return self.shell(f"{SOURCE}\n{MINIMAL.replace('-n 4', f'-n {ranks}')}")

    @unittest.skipUnless(BUILD, "needs a build: NVALCHEMI_BUILD_DIR")
    def test_the_minimal_input_runs_and_leaves_no_findings(self):
        (self.clone / "build").symlink_to(BUILD)
        self.shell(PIP.split(" && ")[0])
        (self.clone / INPUT).write_text(minimal_input())
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                output = self.run_minimal(ranks)
                self.assertIn("neighbours complete, exchange good", output)
                self.assertIn("Total wall time", output)
                if ranks == RANKS_OF_SHOWN_OUTPUT:
                    printed = {without_numbers(line) for line in output.splitlines()}
                    for line in shown_output():
                        self.assertIn(without_numbers(line), printed)
        self.assertTrue((self.clone / "log.lammps").is_file())
        self.assertEqual(findings(self.clone), [])
        shutil.rmtree(self.clone / ".git", ignore_errors=True)
        self.assertEqual(findings(self.clone), [])

    def test_what_a_user_has_not_been_told_to_make_is_found(self):
        (self.clone / "left_behind").write_text("")
        (self.clone / "spec" / "mlip_spec.hpp").write_text("no licence line\n")
        said = findings(self.clone)

        self.assertIn("spec/mlip_spec.hpp:1: the first line", said[0])
        if (self.clone / ".git").exists():
            self.assertEqual(said[1:], ["left_behind"])


if __name__ == "__main__":
    unittest.main()
