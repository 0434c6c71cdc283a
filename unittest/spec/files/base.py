# SPDX-License-Identifier: GPL-2.0-only
"""The spec that the faulty files are made of, by one change each, and names of its places."""

from layout import COMMON_KINDS, compiled, jit, method, module_forward, operator, python, spec

BASE = spec(
    ops=[
        operator(
            "lattice::sum_shells",
            "0 slice_owned, 2 gather_inputs",
            "0 all_reduce_sum, 1 scatter_outputs",
        )
    ],
    helpers=[
        jit("kestrel.radial", "cutoff", "kestrel_adapters.radial:cutoff"),
        python("kestrel.reduce", "mean", "kestrel_adapters.reduce:mean"),
        method("kestrel.layers", "Mixing", "forward", "kestrel_adapters.layers:mixing"),
        module_forward("kestrel.layers.Readout.forward", "readout"),
    ],
    fields="positions",
    node_energy_key="atomic_energies",
    owned_only_outputs=["charges", "forces"],
    all_reduce_outputs=["dipole", "stress"],
    output_kinds=COMMON_KINDS,
    compile=compiled("framework_from_node_energy"),
)

OP = "/core/custom_ops/0"
ARGUMENTS = OP + "/arg_transforms"
OUTPUTS = OP + "/output_transforms"
JIT, PYTHON, METHOD, FORWARD = (f"/core/third_party_helpers/{i}" for i in range(4))
SMALLEST = '{"version": 2, "core": {"policy": {"kind": "halo"}}'  # an object still open
