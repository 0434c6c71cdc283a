# SPDX-License-Identifier: GPL-2.0-only
"""Exchanges of a step, and waits of the host between them, from what trace_cuda.cpp wrote."""

from collections import Counter
from pathlib import Path

# calls that return when the device has done something
WAITS = (
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaMemcpy_v",
    "cudaMemcpyToSymbol_v",
    "cudaFree_v",
    "cudaMalloc_v",
    "cudaFreeHost_v",
    "cudaHostAlloc_v",
)


def read_trace(path):
    """(calls, exchanges): (start, name) of host calls, and (start, name) of the host calls that
    launched NCCL's kernels, in nanoseconds."""
    calls, launches, kernels = [], {}, []
    for line in Path(path).read_text().splitlines():
        kind, start, _, correlation, name = line.split(" ", 4)
        if kind == "K":
            if "nccl" in name.lower():
                kernels.append((correlation, name))
        else:
            launches.setdefault(correlation, int(start))
            calls.append((int(start), name))
    exchanges = [(launches[c], name) for c, name in kernels if c in launches]
    return sorted(calls), sorted(exchanges)


def summarize_trace(path, evaluations, of_model):
    """Exchanges of a step (the first `of_model` are the model's, one more may bring forces home),
    and over the steps after the first three the waits between the first and last of the model."""
    calls, exchanges = read_trace(path)
    per_step = len(exchanges) // evaluations
    starts = [start for start, _ in exchanges]
    steps = [starts[k * per_step : k * per_step + of_model] for k in range(3, evaluations)]
    waits = Counter()
    for step in steps:
        for start, name in calls:
            if step[0] < start < step[-1] and name.startswith(WAITS):
                waits[name] += 1
    return {
        "exchanges_of_a_step": len(exchanges) / evaluations,
        "steps": len(steps),
        "waits_between_exchanges_of_the_model": dict(waits),
        "ms_first_to_last_exchange": [(step[-1] - step[0]) / 1e6 for step in steps],
    }
