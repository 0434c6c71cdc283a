# SPDX-License-Identifier: GPL-2.0-only
"""The shell functions of cmake/setup: missing packages, interrupted and concurrent set-ups."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "cmake" / "setup"


def system_programs():
    """The rows of the table in system_packages.sh: (program, package, purpose)."""
    table = re.search(
        r"nvalchemi_programs='\n(.*?)'", (SETUP / "system_packages.sh").read_text(), re.S
    )
    return [tuple(line.split()) for line in table[1].splitlines()]


ESSENTIAL = [program for program, _, purpose in system_programs() if purpose == "essential"]
OF_TESTS = ["chmod", "sleep"]


class SetupScripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.cache = self.root / "cache"
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name in ESSENTIAL + OF_TESTS:
            (self.bin / name).symlink_to(shutil.which(name))

    def program(self, name, text):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def complete_system(self):
        self.program(
            "g++",
            'case $1 in -dumpfullversion) echo 12.2.0 ;; *) echo "g++ (Debian) 12.2.0" ;; esac',
        )
        self.program("cmake", "echo cmake version 3.25.1")
        for name in ("ctest", "git", "make"):
            self.program(name, "true")
        self.program("python3", 'case "$*" in *version_info*) echo 3.11 ;; esac')

    def command(self, script):
        return ["bash", "-c", f"set -euo pipefail; . '{SETUP}/environment.sh'; {script}"]

    def environment(self, **extra):
        return {
            "PATH": str(self.bin),
            "HOME": str(self.root),
            "NVALCHEMI_CACHE": str(self.cache),
            **extra,
        }

    def run_script(self, script, **extra):
        return subprocess.run(
            self.command(script),
            capture_output=True,
            text=True,
            timeout=60,
            env=self.environment(**extra),
        )


class SystemPackages(SetupScripts):
    def check(self, **extra):
        return self.run_script("nvalchemi_check_system_packages python build test", **extra)

    def expect_missing(self, result, *parts):
        self.assertEqual(result.returncode, 1, result.stdout)
        for part in ("system packages are missing", "apt-get install -y", *parts):
            self.assertIn(part, result.stderr)

    def test_accepts_a_complete_system(self):
        self.complete_system()

        result = self.check()

        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_names_all_that_is_missing_in_one_line(self):
        (self.bin / "flock").unlink()

        self.expect_missing(
            self.check(), "flock is not", "make or ninja is not", "git is not", "ctest is not",
            "apt-get install -y util-linux git g++ cmake make python3-venv\n",
        )  # fmt: skip

    def test_asks_for_what_the_purpose_needs(self):
        for purpose, packages in (("python", "python3-venv"), ("build", "g++ cmake make")):
            result = self.run_script(f"nvalchemi_check_system_packages {purpose}")
            self.expect_missing(result, f"apt-get install -y {packages}\n")

    def test_takes_ninja_for_make(self):
        self.complete_system()
        (self.bin / "make").rename(self.bin / "ninja")

        self.assertEqual(self.check().returncode, 0)

    def test_refuses_an_old_compiler(self):
        self.complete_system()
        self.program(
            "g++",
            'case $1 in -dumpfullversion) echo 11.4.0 ;; *) echo "g++ (Debian) 11.4.0" ;; esac',
        )

        self.expect_missing(self.check(), "is version 11.4.0, expected 12 or later")

    def test_refuses_an_old_cmake(self):
        self.complete_system()
        self.program("cmake", "echo cmake version 3.18.4")

        self.expect_missing(self.check(), "cmake is version 3.18.4, expected 3.22 or later")

    def test_names_the_venv_package_of_the_python_at_hand(self):
        self.complete_system()
        self.program("python3", 'case "$*" in *version_info*) echo 3.13 ;; *) exit 1 ;; esac')

        self.expect_missing(self.check(), "-y python3.13-venv")

    def test_refuses_an_old_python(self):
        self.complete_system()
        self.program("python3", 'case "$*" in *version_info*) echo 3.9 ;; esac')

        self.expect_missing(self.check(), "'python3' is 3.9, expected 3.11 or later")


class Environments(SetupScripts):
    FILL = 'fill() { echo filling; echo content >"$1/content"; }; '

    def setUp(self):
        super().setUp()
        self.complete_system()
        self.cache.mkdir()
        # `python3 -m venv DIR` makes a folder with a python3 that starts.
        self.program(
            "python3",
            'd=${@: -1}/bin; mkdir -p "$d"; echo "#!/bin/bash" >"$d/python3"; chmod +x "$d"/*',
        )

    def make(self, fill=FILL):
        return self.run_script(
            f'{fill} nvalchemi_with_lock "$NVALCHEMI_CACHE/e.lock" '
            'nvalchemi_make_environment "$NVALCHEMI_CACHE/e" python3 1 fill'
        )

    def test_is_made_once(self):
        first, second = self.make(), self.make()

        self.assertIn("filling", first.stdout, first.stderr)
        self.assertNotIn("filling", second.stdout)
        self.assertIn("using ", second.stdout)

    def test_is_made_anew_after_a_failed_set_up(self):
        failed = self.make('fill() { echo half >"$1/half"; false; };')
        mended = self.make()

        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("left unfinished", mended.stdout)
        self.assertEqual(mended.returncode, 0)
        self.assertFalse((self.cache / "e" / "half").exists())
        self.assertTrue((self.cache / "e" / "nvalchemi.stamp").exists())

    def test_is_made_anew_after_a_killed_set_up(self):
        self.make('fill() { echo half >"$1/half"; kill -KILL $$; };')
        mended = self.make()

        self.assertIn("left unfinished", mended.stdout)
        self.assertTrue((self.cache / "e" / "content").exists())

    def test_is_made_anew_when_its_python_is_gone(self):
        self.make()
        (self.cache / "e" / "bin" / "python3").unlink()

        self.assertIn("filling", self.make().stdout)

    def test_is_made_by_one_of_two_concurrent_set_ups(self):
        script = (
            'fill() { echo filling; sleep 2; }; nvalchemi_with_lock "$NVALCHEMI_CACHE/e.lock" '
            'nvalchemi_make_environment "$NVALCHEMI_CACHE/e" python3 1 fill'
        )
        running = [
            subprocess.Popen(
                self.command(script), stdout=subprocess.PIPE, text=True, env=self.environment()
            )
            for _ in range(2)
        ]
        outputs = [process.communicate(timeout=60)[0] for process in running]

        self.assertEqual(sum("filling" in output for output in outputs), 1, outputs)
        self.assertEqual(
            sum("waiting for another set-up" in output for output in outputs), 1, outputs
        )

    def test_needs_room_on_the_disk(self):
        result = self.run_script('nvalchemi_require_space "$NVALCHEMI_CACHE" 999999999')

        self.assertEqual(result.returncode, 1)
        self.assertIn("expected at least 999999999 MB", result.stderr)
        self.assertIn("set NVALCHEMI_CACHE", result.stderr)

    def test_pip_failure_says_what_to_do(self):
        result = self.run_script("nvalchemi_pip false install something")

        self.assertEqual(result.returncode, 1)
        self.assertIn("pip install did not succeed", result.stderr)
        self.assertIn("run the same command again", result.stderr)

    def test_export_needs_a_python_that_torchscript_supports(self):
        self.program("python3", 'case "$*" in *--version*) echo Python 3.14.1 ;; *) exit 1 ;; esac')

        result = self.run_script("nvalchemi_export_env; echo reached")

        self.assertNotIn("reached", result.stdout)
        self.assertIn("exporting a model needs Python 3.11, 3.12 or 3.13", result.stderr)
        self.assertIn("'python3' is Python 3.14.1", result.stderr)


class KokkosLammps(SetupScripts):
    SHOW = 'nvalchemi_kokkos_lammps; printf "%s\\n" "${nvalchemi_kokkos_arguments[@]}"'

    def test_can_be_left_out(self):
        result = self.run_script(self.SHOW, NVALCHEMI_KOKKOS="no")

        self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=OFF", result.stdout, result.stderr)

    def test_takes_the_users_own(self):
        own = {"LAMMPS_SOURCE_DIR": "/opt/lammps", "LAMMPS_EXECUTABLE": "/opt/lammps/lmp"}
        without = self.run_script(self.SHOW, **own)
        result = self.run_script(self.SHOW, Kokkos_ROOT="/opt/kokkos", **own)
        alone = self.run_script(self.SHOW, Kokkos_ROOT="/opt/kokkos")

        self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=OFF", without.stdout)
        self.assertIn("set Kokkos_ROOT if your LAMMPS has KOKKOS", without.stdout)
        self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=ON\n-DKokkos_ROOT=/opt/kokkos", result.stdout)
        self.assertIn("Kokkos_ROOT is set without LAMMPS_SOURCE_DIR", alone.stderr)

    def test_is_made_once_and_left_out_after_a_failure(self):
        fill = 'nvalchemi_fill_kokkos_lammps() { echo filling; echo half >"$1/half"; %s; }; '
        # the folder is named after what fills it
        fill = "nvalchemi_kokkos_lammps_name() { echo kokkos-lammps; }; " + fill
        fails, works = fill % "false; echo on", fill % "true"
        before = self.run_script(fails + self.SHOW, NVALCHEMI_KOKKOS="present")
        runs = [self.run_script(what + self.SHOW) for what in (fails, works, works)]
        after = self.run_script(fails + self.SHOW, NVALCHEMI_KOKKOS="present")

        self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=OFF", before.stdout)
        self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=ON", after.stdout)
        self.assertEqual([run.returncode for run in runs], [0, 0, 0], runs)
        self.assertIn("left out: LAMMPS with KOKKOS", runs[0].stdout)
        self.assertIn("it failed with status 1", runs[0].stdout)
        self.assertIn("-DNVALCHEMI_ENABLE_KOKKOS=OFF", runs[0].stdout)
        self.assertNotIn("on\n-D", runs[0].stdout)
        self.assertIn("left unfinished", runs[1].stdout)
        self.assertNotIn("filling", runs[2].stdout)
        for part in ("_LAMMPS_DIR=", "/lammps\n", "/kokkos\n", "/lammps-build/lmp\n"):
            self.assertIn(part, runs[2].stdout)

    def test_reason_is_the_message_of_the_failure(self):
        result = self.run_script(
            "inner() { nvalchemi_fail 'no room' 'Make some.'; }; "
            "nvalchemi_optional Part inner; nvalchemi_optional Other true; "
            'printf "<%s>" "${nvalchemi_left_out[@]}"'
        )

        self.assertTrue(result.stdout.endswith("<Part: no room>"), result)
        self.assertIn("Make some.", result.stderr)

    def test_refuses_a_source_that_was_cut_short(self):
        (self.root / "kokkos-4.7.00-src.tar.xz").write_text("no archive")
        result = self.run_script(
            'nvalchemi_unpack_kokkos_sources "$HOME"; echo reached',
            NVALCHEMI_TOOLCHAIN=str(self.root),
        )

        self.assertNotIn("reached", result.stdout)
        self.assertIn("kokkos-4.7.00-src.tar.xz has the checksum ", result.stderr)
        self.assertIn("expected 2048fd86", result.stderr)

    def test_unpacks_without_tar_and_xz(self):
        source = self.root / "source"
        (source / "top" / "inner").mkdir(parents=True)
        (source / "top" / "inner" / "file").write_text("content")
        (source / "top" / "link").symlink_to("inner/file")
        os.link(source / "top" / "inner" / "file", source / "top" / "same")
        (source / "other").write_text("")
        for ending, below, expected in (
            ("gz", "top/inner", ["file"]),
            ("xz", "top", ["inner", "inner/file", "link", "same"]),
            ("xz", "", ["other", "top", "top/inner", "top/inner/file", "top/link", "top/same"]),
            ("xz", "*/inner", ["file"]),
        ):
            archive, folder = self.root / f"a.tar.{ending}", Path(tempfile.mkdtemp(dir=self.root))
            with tarfile.open(archive, f"w:{ending}") as tar:
                for name in ("top", "other"):
                    tar.add(source / name, name)
            command = [sys.executable, SETUP / "unpack.py", archive, folder, below]
            subprocess.run(command, check=True, env={"PATH": "/nowhere"})

            found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
            self.assertEqual(found, expected)
            if below == "top":
                self.assertEqual((folder / "link").read_text(), "content")
                self.assertEqual((folder / "same").read_text(), "content")

    def test_says_what_to_do_where_lammps_cannot_be_had(self):
        script = 'nvalchemi_download_lammps "$HOME"; echo reached'
        without = self.run_script(script)
        self.program("apt-get", "false")
        other_system = self.run_script(script)
        self.program(
            "apt-get", 'case $1 in indextargets) echo "file:/mirror/debian/" ;; *) exit 1 ;; esac'
        )
        self.program("id", "echo nobody")
        offline = self.run_script(script)

        for result, part in (
            (without, "LAMMPS's source comes with apt-get, which this system lacks"),
            (other_system, "apt-get knows no repository of Debian"),
            (offline, "lammps_20250204+dfsg.1.orig.tar.xz could not be had from file:/mirror/"),
        ):
            self.assertNotIn("reached", result.stdout)
            self.assertIn(part, result.stderr)
            self.assertIn("NVALCHEMI_TOOLCHAIN", result.stderr)
            self.assertIn("NVALCHEMI_KOKKOS=no", result.stderr)


class Console(SetupScripts):
    def test_prints_where_the_time_went(self):
        result = self.run_script(
            "nvalchemi_phase First true; nvalchemi_phase Second sleep 1; nvalchemi_print_times"
        )

        self.assertRegex(
            result.stdout, r"Where the time went:\n +0 s  First\n +1 s  Second\n +\d s  in all"
        )

    def test_stops_at_a_phase_that_fails(self):
        began = time.monotonic()
        result = self.run_script("nvalchemi_phase First false; echo reached")

        self.assertEqual((result.returncode, "reached" in result.stdout), (1, False))
        self.assertLess(time.monotonic() - began, 30)

    def test_jobs_follow_cores_and_not_openmp_threads(self):
        self.program("nproc", 'echo "${OMP_NUM_THREADS:-6}"')
        count = "nvalchemi_free_megabytes() { echo ${free}; }; free=99000; nvalchemi_jobs"
        for extra in ({}, {"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "12"}):
            self.assertEqual(self.run_script(count, **extra).stdout.split()[-1], "6")
        few = self.run_script(count.replace("99000", "5200"))
        self.assertEqual(few.stdout.split()[-1], "2")
        self.assertEqual(self.run_script(count, NVALCHEMI_JOBS="3").stdout.split()[-1], "3")

    def test_cache_folder_follows_the_user(self):
        script = "nvalchemi_cache_dir"
        own = self.run_script(script).stdout.strip()
        xdg = self.run_script(
            "unset NVALCHEMI_CACHE; " + script, XDG_CACHE_HOME=str(self.root / "x")
        ).stdout.strip()
        home = self.run_script("unset NVALCHEMI_CACHE; " + script).stdout.strip()

        self.assertEqual(own, os.path.realpath(self.cache))
        self.assertEqual(xdg, os.path.realpath(self.root / "x" / "lammps-nvalchemi"))
        self.assertEqual(home, os.path.realpath(self.root / ".cache" / "lammps-nvalchemi"))


if __name__ == "__main__":
    unittest.main()
