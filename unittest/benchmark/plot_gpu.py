#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plots from what measure_gpu.py wrote: time of a step, and of an exchange.

python3 unittest/benchmark/plot_gpu.py numbers.json doc/figures
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def finish(axes, x, y, path):
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(which="both", alpha=0.3)
    axes.legend()
    axes.figure.tight_layout()
    axes.figure.savefig(path, dpi=120)
    print(path)


def plot_steps(numbers, folder):
    """Milliseconds a step against atoms: this package, bare LibTorch, the peer."""
    axes = pyplot.figure(figsize=(6, 4)).subplots()
    rows = {int(atoms): row for atoms, row in numbers["steps"].items()}
    curves = {
        "LibTorch alone": {n: row["bare"]["seconds"] for n, row in rows.items() if "bare" in row},
        "nvalchemi/kk, graphs no": {n: row["graphs_no"]["seconds"] for n, row in rows.items()},
        "nvalchemi/kk, graphs yes": {
            n: row["graphs_yes"]["seconds"] for n, row in rows.items() if "graphs_yes" in row
        },
    }
    scaling = numbers.get("scaling", {})
    curves["nvalchemi/kk, 2 GPUs"] = {
        int(name[4:]): scaling[name]["seconds"]
        for name in scaling
        if name.startswith("two_") and name[4:].isdigit()
    }
    for ranks, style in ((1, "e3gnn"), (2, "e3gnn/parallel, 2 GPUs")):
        curves[style] = {
            int(name.split("_")[0]): row["seconds"]
            for name, row in numbers.get("peer", {}).items()
            if name.endswith(f"_{ranks}")
        }
    for (name, curve), marker in zip(curves.items(), "o^vs+x", strict=True):
        if curve:
            atoms = sorted(curve)
            axes.plot(atoms, [1e3 * curve[n] for n in atoms], marker=marker, label=name)
    finish(axes, "atoms", "milliseconds a step", folder / "gpu_step_time.png")


def plot_exchange(numbers, folder):
    """Microseconds of an exchange against bytes, beside NCCL's own."""
    axes = pyplot.figure(figsize=(6, 4)).subplots()
    rows = numbers["exchange"]
    size = [row["bytes"] for row in rows]
    axes.plot(size, [row["raw_us"] for row in rows], "k--", label="NCCL send and receive")
    for way in ("nccl", "mpi"):
        for direction, line in (("forward", "o-"), ("reverse", "^-")):
            times = [row[way][f"{direction}_us"] for row in rows]
            axes.plot(size, times, line, label=f"{direction}, {way}")
    finish(axes, "bytes each way", "microseconds", folder / "gpu_exchange_time.png")


def plot_several(numbers, folder):
    """Milliseconds a step against GPUs: each size, and as many atoms on each GPU."""
    axes = pyplot.figure(figsize=(6, 4)).subplots()
    for comm, line in (("auto", "o-"), ("mpi", "^--")):
        rows = {
            tuple(int(word) for word in name.split("_")): row["seconds"]
            for name, row in numbers["several"][comm].items()
            if "seconds" in row
        }
        for atoms in sorted({atoms for atoms, _ in rows}):
            gpus = sorted(n for size, n in rows if size == atoms)
            times = [1e3 * rows[atoms, n] for n in gpus]
            axes.plot(gpus, times, line, label=f"{atoms} atoms, halo_comm {comm}")
    finish(axes, "GPUs", "milliseconds a step", folder / "gpu_scaling.png")


def main():
    numbers, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    sections = {"steps": plot_steps, "exchange": plot_exchange, "several": plot_several}
    for section, plot in sections.items():
        if section in numbers:
            plot(numbers, folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
