# SPDX-License-Identifier: GPL-2.0-only
"""Finds and loads libnvalchemi_kernels.so, which registers the operators, once in a process."""

import ctypes
import os
import re
from pathlib import Path

import torch

LIBRARY = "libnvalchemi_kernels.so"
VARIABLE = "NVALCHEMI_KERNELS_LIBRARY"
BUILT_FOR = re.compile(rb"nvalchemi-kernels-built-for-torch=(\d+\.\d+)")


def _candidates():
    """Files to look for: the one that the user names, or else those beside this package."""
    named = os.environ.get(VARIABLE)
    if named:
        return [Path(named)]
    package = Path(__file__).resolve().parent
    wheel = package.parent / "lammps_nvalchemi" / "lib" / "nvalchemi"
    checkout = list(package.parents)[2:3]  # kernels/python/nvalchemi_lmp
    return [
        package / LIBRARY,
        *wheel.glob(f"{LIBRARY}.*"),
        *(top / "build" / "lib" / LIBRARY for top in checkout),
    ]


def _find():
    candidates = _candidates()
    for path in candidates:
        if path.is_file():
            return path
    raise ImportError(
        f"nvalchemi_lmp: got no file {' or '.join(map(str, candidates))}, expected the built "
        f"{LIBRARY} (build this package, or set {VARIABLE} to the file in the lib folder of its "
        "build)"
    )


def _check_torch(path):
    """Before it is opened: under another torch, the library could end the process."""
    mark = BUILT_FOR.search(path.read_bytes())
    if mark is None:
        raise ImportError(
            f"nvalchemi_lmp: {path}: got a file that is not a complete {LIBRARY} of this package "
            f"(build it again, or correct {VARIABLE})"
        )
    got, expected = mark[1].decode(), ".".join(torch.__version__.split(".")[:2])
    if got != expected:
        raise ImportError(
            f"nvalchemi_lmp: {path}: got a library that was built for torch {got}, expected "
            f"{expected} as in {torch.__file__} (build this package with NVALCHEMI_TORCH_DIR set "
            f"to the folder of that torch, or use a Python with torch {got})"
        )


def _registered():
    """(version, file) of the library that registered the operators, or None."""
    if not hasattr(torch.ops.nvalchemi_lmp, "library_info"):
        return None
    return torch.ops.nvalchemi_lmp.library_info().split("|", 1)


def load(version):
    """Load the library unless something, for example LAMMPS's plugin, has registered the
    operators already; raise ImportError unless they are of `version`."""
    if _registered() is None:
        path = _find()
        _check_torch(path)
        try:
            torch.ops.load_library(path)
        except OSError as error:
            raise ImportError(
                f"nvalchemi_lmp: {path}: got a library that does not load, expected one for this "
                f"system and torch (build this package again): {error}"
            ) from error
        if _registered() is None:
            raise ImportError(
                f"nvalchemi_lmp: got operators nvalchemi_lmp that something other than this "
                f"package has registered, expected none before {path} (do not load it together "
                "with this package)"
            )
    got, file = _registered()
    if got != version:
        raise ImportError(
            f"nvalchemi_lmp: {file}: got operators of version {got}, expected {version} as in "
            f"{Path(__file__).parent} (use the module and the library of one package)"
        )


def loaded_file():
    """Path of the library that registered the operators."""
    return _registered()[1]


def loaded_library():
    """The same as a ctypes library."""
    return ctypes.CDLL(loaded_file())
