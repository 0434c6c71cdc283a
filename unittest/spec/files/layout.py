# SPDX-License-Identifier: GPL-2.0-only
"""How specs are put together and written in the two public variants of the format.

Knows the layout from its description alone, and nothing of the C++ writer that is tested with it.
"""

import copy
import json
from dataclasses import dataclass

LOADS = "loads"
REMOVED = object()  # as the value of `changed`: take the member away


@dataclass(frozen=True)
class SpecFile:
    """One file and what becomes of it.

    `strict` and `lenient` are LOADS or the JSON pointer of what is refused; `warnings` the pointers
    of what a reading that loads speaks of, in order. `read_as` says, as a JSON patch, how the
    spec that is read differs from the text; absent if the text means what it says.
    """

    name: str
    text: str
    strict: str = LOADS
    lenient: str = LOADS
    warnings: tuple = ()
    read_as: tuple = ()


def written(spec):
    """The text of a spec as the Python package saves it."""
    return json.dumps(spec, indent=2)


# --- parts of a spec ----------------------------------------------------------------------------


def halo(scatter="halo_correction", gather="halo_read", kind="halo"):
    return {"kind": kind, "scatter_mode": scatter, "gather_mode": gather}


def refresh_halo(scatter="local", gather="halo_read"):
    return halo(scatter, gather, "refresh_halo")


def transforms(text):
    """{"0": {"type": "slice_owned"}} of "0 slice_owned"; commas stand between positions.

    A sum over ranks whose result every rank uses in the same way is "0 all_reduce_sum replicated".
    """
    result = {}
    for position, kind, *flags in map(str.split, text.split(",") if text else []):
        result[position] = {"type": kind}
        if kind == "all_reduce_sum":
            result[position]["replicated_consumer"] = flags == ["replicated"]
    return result


def operator(name, arguments="", outputs=""):
    return {
        "op": name,
        "arg_transforms": transforms(arguments),
        "output_transforms": transforms(outputs),
    }


def python(module, name, replacement=None):
    target = {"module_path": module, "attr_name": name}
    return {"kind": "python", **target, "replacement": replacement}


def jit(module, name, replacement=None, mode="eager"):
    return {**python(module, name, replacement), "kind": "jit", "mode": mode}


def method(module, class_name, name, replacement=None, mode="wrap"):
    target = {"module_path": module, "class_name": class_name, "method_name": name}
    return {"kind": "method", **target, "replacement": replacement, "mode": mode}


def module_forward(target, label=""):
    return {"kind": "module_forward", "target": target, "label": label}


def kinds(text):
    """Sorted pairs [name, kind] of "energy per_graph, forces per_node"."""
    return sorted(pair.split() for pair in text.split(","))


def compiled(strategy, static_shapes=True, stress_via_strain=False):
    return {
        "static_shapes": static_shapes,
        "force_strategy": strategy,
        "stress_via_strain": stress_via_strain,
    }


COMMON_KINDS = kinds(
    "atomic_energies per_node, energy per_graph, forces per_node, stress per_graph"
)

# --- whole specs --------------------------------------------------------------------------------


def spec(policy=None, ops=(), helpers=(), fields=None, **members):
    """A spec with all its keys in the order of the released variant."""
    core = {
        "policy": policy or halo(),
        "custom_ops": list(ops),
        "third_party_helpers": list(helpers),
    }
    if fields is not None:
        core["shard_fields"] = fields.split()
    whole = {
        "version": 2,
        "core": core,
        "system_reductions": True,
        "node_energy_key": None,
        "node_virial_key": None,
        "gp_replicate_geometry": False,
        "owned_only_outputs": [],
        "all_reduce_outputs": [],
        "output_kinds": [],
        "compile": None,
    }
    unknown = members.keys() - whole.keys()
    if unknown:
        raise TypeError(f"got {sorted(unknown)}, expected keys of a spec: {list(whole)}")
    return whole | members


def early(whole):
    """The same in the early variant, which has no `compile` and no `replicated_consumer`."""
    result = copy.deepcopy(whole)
    del result["compile"]
    for adapter in result["core"]["custom_ops"]:
        for record in adapter["output_transforms"].values():
            record.pop("replicated_consumer", None)
    return result


def changed(whole, pointer, value):
    """A spec with another value at a JSON pointer; REMOVED takes the member away."""
    result = copy.deepcopy(whole)
    *parents, last = pointer.split("/")[1:]
    place = result
    for token in parents:
        place = place[int(token) if isinstance(place, list) else token]
    last = int(last) if isinstance(place, list) else last
    if value is REMOVED:
        del place[last]
    else:
        place[last] = value
    return result
