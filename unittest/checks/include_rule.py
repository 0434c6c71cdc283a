# SPDX-License-Identifier: GPL-2.0-only
"""The include rule: spec <- kernels <- potentials <- src/USER-NVALCHEMI.

Each layer has a list of what it may include; anything else is a finding. Besides, nothing that the
LAMMPS glue includes, however indirectly, may reach torch or nlohmann/json. A CUDA toolkit is not on
every machine, so its headers belong to *.cu, to *.cuh, which *.cu alone include, and to *_kokkos.*.
"""

import re

from source_tree import Finding, list_files, read_lines

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = r"[a-z_]+"
SYSTEM = r"(dlfcn|link|unistd)\.h|sys/[a-z]+\.h"
TORCH = r"(torch|ATen|c10|caffe2)/.*"
JSON = r"nlohmann/.*"
CUDA = r"(cuda|cuda_runtime|cuda_runtime_api|cuda_fp16|nccl|nvrtc)\.h|.*\.cuh"
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
GLUE = "src/USER-NVALCHEMI"


class Layer:
    """What headers may include, and what sources may include on top of that."""

    def __init__(self, headers, sources=()):
        self.headers = re.compile("|".join(headers))
        self.sources = re.compile("|".join([*headers, *sources]))


LAYERS = {
    "spec": Layer([STANDARD, r"spec/.*"], [SYSTEM, JSON]),
    "kernels": Layer([STANDARD, TORCH, r"(spec|kernels)/.*"], [SYSTEM]),
    "potentials": Layer([STANDARD, TORCH, r"(spec|kernels|potentials)/.*"], [SYSTEM, JSON]),
    # Without a folder: LAMMPS's headers and the glue's own. Kokkos: see allowed().
    GLUE: Layer(
        [STANDARD, r"mpi\.h", r"(fmt/)?[a-z0-9_]+\.h", r"(spec|kernels|potentials)/.*"], [SYSTEM]
    ),
}


def layer_of(path):
    return next((name for name in LAYERS if str(path).startswith(name + "/")), None)


def includes_of(root, path):
    """(line, name) of each include of a file."""
    matches = (
        (number, INCLUDE.match(line)) for number, line in enumerate(read_lines(root, path), 1)
    )
    return [(number, match[2]) for number, match in matches if match]


def allowed(layer, path, name):
    if layer == GLUE and name.startswith("Kokkos"):
        return "_kokkos." in path.name
    if layer == GLUE and re.fullmatch(CUDA, name):
        return path.suffix in {".cu", ".cuh"} or "_kokkos." in path.name
    rule = LAYERS[layer]
    return bool((rule.sources if path.suffix == ".cpp" else rule.headers).fullmatch(name))


def path_to_library(root, files, start):
    """Chain of includes from a file to torch or json, or None."""
    stack, seen = [(start,)], {start}
    while stack:
        chain = stack.pop()
        for _, name in includes_of(root, chain[-1]):
            if re.fullmatch(f"{TORCH}|{JSON}", name):
                return [*map(str, chain), name]
            for candidate in (chain[-1].parent / name, type(start)(name)):
                if candidate in files and candidate not in seen:
                    seen.add(candidate)
                    stack.append((*chain, candidate))
    return None


def check(root):
    files = [path for path in list_files(root) if path.suffix in SUFFIXES]
    known, findings = set(files), []
    for path in files:
        layer = layer_of(path)
        if layer is None:
            continue
        for line, name in includes_of(root, path):
            if not allowed(layer, path, name):
                findings.append(Finding(str(path), line, f"{layer}/ must not include {name} here"))
        chain = path_to_library(root, known, path) if layer == GLUE else None
        if chain:
            findings.append(
                Finding(
                    str(path), 1, "reaches a library hidden from the glue: " + " -> ".join(chain)
                )
            )
    return findings
