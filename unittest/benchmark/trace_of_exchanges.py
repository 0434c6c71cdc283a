# SPDX-License-Identifier: GPL-2.0-only
"""Exchanges of a step, and what makes the host wait between them, from what trace_cuda.cpp wrote."""

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


def split_into_steps(times, per_step):
    return [times[k : k + per_step] for k in range(0, len(times) - per_step + 1, per_step)]


def summarize_trace(path, per_step=8):
    """Over the steps after the first three: exchanges of a step, and waits between the first and
    the last of them."""
    calls, exchanges = read_trace(path)
    steps = split_into_steps([start for start, _ in exchanges], per_step)[3:]
    waits = Counter()
    for step in steps:
        for start, name in calls:
            if step[0] < start < step[-1] and name.startswith(WAITS):
                waits[name] += 1
    spans = [(step[-1] - step[0]) / 1e6 for step in steps]
    apart = [(b[0] - a[-1]) / 1e6 for a, b in zip(steps, steps[1:], strict=False)]
    return {
        "exchanges": len(exchanges),
        "steps": len(steps),
        "waits_between_exchanges": dict(waits),
        "ms_first_to_last_exchange": spans,
        "ms_to_next_step": apart,
    }
