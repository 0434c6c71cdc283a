#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What an archive costs by itself: forward and gradient by LibTorch alone on one GPU.

    python3 unittest/benchmark/bare_evaluation.py ARCHIVE DUMP... [--repeats N] [--capture]

Each DUMP is LAMMPS's, of one snapshot with id, type, x, y, z in an orthogonal periodic box, types
being Na and Cl. Prints a JSON line for each: atoms, edges, median seconds of an evaluation, GiB of
GPU memory in use afterwards, and with --capture the seconds of the same as a CUDA graph.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import cKDTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "potentials" / "exporters"))

from evaluate import (  # noqa: E402
    DTYPES,
    default_precision,
    differentiable_input,
    forward_arguments,
    role_values,
)
from operators import load_operators  # noqa: E402

SYMBOLS = {1: "Na", 2: "Cl"}


def read_snapshot(path):
    """Structure of the last snapshot of a dump with id, type, x, y, z."""
    lines = Path(path).read_text().split("ITEM: ")
    box = next(part for part in reversed(lines) if part.startswith("BOX BOUNDS"))
    atoms = next(part for part in reversed(lines) if part.startswith("ATOMS id type x y z"))
    low, high = np.array([row.split() for row in box.splitlines()[1:4]], dtype=float).T
    table = np.array([row.split() for row in atoms.splitlines()[1:]], dtype=float)
    table = table[np.argsort(table[:, 0])]
    return {
        "symbols": [SYMBOLS[int(kind)] for kind in table[:, 1]],
        "positions": table[:, 2:5] - low,
        "cell": np.diag(high - low),
        "pbc": [True, True, True],
    }


def periodic_edges(atoms, cutoff):
    """Edges as evaluate.neighbor_edges gives them, for a box larger than twice the cutoff."""
    lengths = np.diag(atoms["cell"])
    wrapped = np.mod(atoms["positions"], lengths)
    pairs = cKDTree(wrapped, boxsize=lengths).query_pairs(cutoff, output_type="ndarray")
    i = np.concatenate([pairs[:, 0], pairs[:, 1]])
    j = np.concatenate([pairs[:, 1], pairs[:, 0]])
    order = np.argsort(i, kind="stable")
    i, j = i[order], j[order]
    difference = atoms["positions"][j] - atoms["positions"][i]
    shift = -np.rint(difference / lengths)
    return i, j, shift, difference + shift * lengths


def load(archive):
    """Module on the GPU and its card."""
    files = {"nvalchemi.json": ""}
    try:
        load_operators()
    except (OSError, ImportError) as problem:
        print(f"without this package's own operators: {problem}", file=sys.stderr)
    module = torch.jit.load(archive, map_location="cuda", _extra_files=files)
    card = json.loads(
        files["nvalchemi.json"] or Path(archive).with_suffix(".card.json").read_text()
    )
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module.eval(), card


def measure(module, card, atoms, repeats, capture):
    edges = periodic_edges(atoms, card["cutoff"])
    values = role_values(card, atoms, edges)
    values = {k: v.cuda() if torch.is_tensor(v) else v for k, v in values.items()}
    leaf = differentiable_input(card, values)
    arguments = forward_arguments(card, values)
    (energies,) = (k for k, e in card["outputs"].items() if e["role"] == "atomic_energies")

    def evaluate():
        return torch.autograd.grad(module(*arguments)[energies].sum(), leaf)

    def timed(work):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    for _ in range(3):
        evaluate()
    seconds = [timed(evaluate) for _ in range(repeats)]
    free, total = torch.cuda.mem_get_info()
    found = {
        "atoms": len(atoms["symbols"]),
        "edges": len(edges[0]),
        "seconds": statistics.median(seconds),
        "gib_in_use": (total - free) / 2**30,
        "gib_allocated": torch.cuda.max_memory_allocated() / 2**30,
    }
    if capture:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            evaluate()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.autograd.set_multithreading_enabled(False), torch.cuda.graph(graph):
            evaluate()
        found["seconds_captured"] = statistics.median(timed(graph.replay) for _ in range(repeats))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archive")
    parser.add_argument("dumps", nargs="+")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--capture", type=int, default=0, metavar="N", help="for up to N atoms")
    arguments = parser.parse_args()
    # as in the plugin: the optimising executor pays for every new shape and gains nothing here
    torch._C._set_graph_executor_optimize(False)
    module, card = load(arguments.archive)
    with default_precision(DTYPES[card["dtype"]]):
        for dump in arguments.dumps:
            atoms = read_snapshot(dump)
            capture = len(atoms["symbols"]) <= arguments.capture
            print(json.dumps(measure(module, card, atoms, arguments.repeats, capture)), flush=True)


if __name__ == "__main__":
    main()
