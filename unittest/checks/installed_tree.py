# SPDX-License-Identifier: GPL-2.0-only
"""What tests of the installed package share: installing the build, a small run of LAMMPS."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["NVALCHEMI_BUILD_DIR"])
ENVIRONMENT = Path(os.environ["NVALCHEMI_ENV_DIR"])
LAMMPS = os.environ.get("NVALCHEMI_LAMMPS", "")
MPIEXEC = os.environ.get("NVALCHEMI_MPIEXEC", "")
ARCHIVE = REPOSITORY / "examples" / "lammps" / "minimal" / "example_network.pt"
LIBRARIES = Path("lib") / "nvalchemi"

STYLE = "units metal\npair_style nvalchemi device cpu threads 1\n"
INPUT = f"""{STYLE}
lattice custom 5.64 basis 0 0 0 basis 0.5 0.5 0.5
region box block 0 3 0 3 0 3
create_box 2 box
create_atoms 1 box basis 2 2
mass 1 22.99
mass 2 35.45
displace_atoms all random 0.1 0.1 0.1 1 units box
pair_coeff * * {ARCHIVE} Na Cl
thermo_modify format float %.12f
run 0
variable e equal pe
print "energy ${{e}}"
"""


def install(prefix, build=BUILD):
    subprocess.run(
        ["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL
    )


def environment(**changes):
    """The environment of a user who has sourced nothing of the build."""
    hidden = (
        "LAMMPS_PLUGIN_PATH",
        "NVALCHEMI_KERNELS_LIBRARY",
        "OMP_WAIT_POLICY",
        "PYTHONPATH",
        "LD_LIBRARY_PATH",
    )
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


def run(command, text=None, folder=None, **changes):
    """The finished process, its output and messages in one text."""
    return subprocess.run(
        [str(word) for word in command],
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment(**changes),
        timeout=300,
    )


def run_lammps(command, folder, **changes):
    (Path(folder) / "in.file").write_text(INPUT)
    return run([*command, "-in", "in.file", "-log", "none"], folder=folder, **changes)


def energy(finished):
    """What INPUT prints."""
    lines = [line.split() for line in finished.stdout.splitlines()]
    found = [line[1] for line in lines if line[:1] == ["energy"]]
    if finished.returncode != 0 or len(found) != 1:
        raise AssertionError(finished.stdout)
    return found[0]


def packages_of_environment():
    """Folder of the environment's Python packages, or None without one that holds LAMMPS."""
    for site in ENVIRONMENT.glob("lib/python3*/site-packages"):
        if (site / "lammps" / "lmp").exists() and (site / "torch" / "lib").exists():
            return site
    return None


def entry_points():
    """The entry points of pyproject.toml as the text of a package's entry_points.txt."""
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    groups = {**project["entry-points"], "console_scripts": project["scripts"]}
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in groups.items()
    )


def link_environment(root):
    """A Python environment below `root` with links to the packages and the MPI of the real one;
    returns its folder of packages."""
    packages = packages_of_environment()
    site = root / "lib" / "python3" / "site-packages"
    site.mkdir(parents=True)
    for path in packages.iterdir():
        (site / path.name).symlink_to(path)
    for name in ("libmpi.so.12", "mpich"):
        if (packages.parents[1] / name).exists():
            (root / "lib" / name).symlink_to(packages.parents[1] / name)
    return site


def lay_out_wheel(site):
    """This package in the folder `site` as its wheel is, from the same install rules."""
    package = site / "lammps_nvalchemi"
    shutil.copytree(REPOSITORY / "src" / "python" / "lammps_nvalchemi", package)
    shutil.copytree(REPOSITORY / "kernels" / "python" / "nvalchemi_lmp", site / "nvalchemi_lmp")
    install(package)
    metadata = site / "lammps_nvalchemi-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: lammps-nvalchemi\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points())


def python_that_prints(path):
    """A program at `path` for NVALCHEMI_EXPORT_PYTHON that prints what it runs."""
    path.write_text('#!/bin/sh\ncase $1 in -c) ;; *) echo "$@" ;; esac\n')
    path.chmod(0o755)
    return str(path)


def python_command(code):
    return [sys.executable, "-c", code]


def scratch(test_class):
    """A folder that is removed after the tests of the class."""
    folder = tempfile.TemporaryDirectory()
    test_class.addClassCleanup(folder.cleanup)
    return Path(folder.name).resolve()
