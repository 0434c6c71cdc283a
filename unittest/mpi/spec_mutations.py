# SPDX-License-Identifier: GPL-2.0-only
# ruff: noqa: B023 (a change is made where it is written, within its turn of the loop)
"""Specs that differ from a right one in one place, or in two."""

import copy
import json
import random
from dataclasses import dataclass

# what was changed -> what the diagnosis may call it
ROWS = {"stale_halo_rows", "sums_not_folded", "missing_scatter_outputs"}
CLASSES = {
    "policy kind": ROWS | {"policy_not_supported", "transform_of_other_policy"},
    "scatter_mode": ROWS,
    "gather_mode": ROWS,
    "both modes": ROWS,
    "adapter dropped": {"undeclared_operator"},
    "adapter misnamed": {"operator_not_found"},
    "adapter of nothing": {"operator_not_found"},
    "scatter_outputs dropped": {"missing_scatter_outputs"},
    "slice_owned dropped": {"atoms_counted_twice"},
    "all_reduce_sum dropped": {"atoms_counted_twice", "replicated_output_diverges"},
    "scatter_outputs for all_reduce_sum": {"wrong_output_transform"},
    "all_reduce_sum for scatter_outputs": {"wrong_output_transform"},
    "scatter_outputs added": {"superfluous_scatter_outputs", "wrong_output_transform"},
    "all_reduce_sum added": {"wrong_output_transform"},
    "gather_inputs added": {"double_padding", "argument_without_rows"},
    "slice_owned added": {"rows_missing", "argument_without_rows"},
    "gather_inputs for slice_owned": {"double_padding"},
    "position": {"position_out_of_range"},
    "all_reduce_outputs": {"double_reduction"},
    "system_reductions": {"reductions_forbidden"},
    "output_kinds": {"output_kind"},
    "node_energy_key": {"node_energy_key"},
    "force_strategy": {"force_strategy"},
    "helper dropped": {"undeclared_helper"},
    "helper misnamed": {"helper_not_called", "undeclared_helper"},
    "gp_replicate_geometry": {"geometry_not_replicated"},
    "of graph_parallel": {"transform_of_other_policy"},
}


@dataclass
class Mutant:
    spec: dict
    changes: list  # (kind, where)

    @property
    def name(self):
        return "; ".join(f"{kind}: {where}" for kind, where in self.changes)

    @property
    def kind(self):
        return " and ".join(kind for kind, _ in self.changes)

    @property
    def classes(self):
        return set().union(*(CLASSES[kind] for kind, _ in self.changes))


class Mutations:
    """All that differ from a spec in one place."""

    def __init__(self, archive, spec, before=()):
        self.archive, self.spec, self.before = archive, spec, list(before)
        self.seen = {json.dumps(spec, sort_keys=True), json.dumps(archive.right, sort_keys=True)}
        self.found = []

    def add(self, kind, where, change):
        spec = copy.deepcopy(self.spec)
        change(spec)
        text = json.dumps(spec, sort_keys=True)
        if text not in self.seen:
            self.seen.add(text)
            self.found.append(Mutant(spec, [*self.before, (kind, where)]))

    def all(self):
        self.policies()
        for k, _ in enumerate(self.spec["core"]["custom_ops"]):
            self.adapter(k)
        for k, helper in enumerate(self.spec["core"].get("third_party_helpers", [])):
            self.helper(k, helper)
        self.outputs()
        self.rest()
        return self.found

    def policies(self):
        for kind in ("local", "graph_parallel", "shard"):
            self.add("policy kind", kind, lambda s: s["core"].update(policy={"kind": kind}))
        for kind in ("halo", "refresh_halo"):
            self.add("policy kind", kind, lambda s: s["core"]["policy"].update(kind=kind))
        if "scatter_mode" not in self.spec["core"]["policy"]:
            return
        local = {"scatter_mode": "local"}, {"gather_mode": "local"}
        full = {"scatter_mode": "halo_correction"}
        for change in (local[0], full):
            self.add("scatter_mode", *self.with_policy(change))
        self.add("gather_mode", *self.with_policy(local[1]))
        self.add("both modes", *self.with_policy({**local[0], **local[1]}))

    @staticmethod
    def with_policy(change):
        return ", ".join(change.values()), lambda s: s["core"]["policy"].update(change)

    def adapter(self, k):
        op = self.spec["core"]["custom_ops"][k]["op"]

        def at(spec):
            return spec["core"]["custom_ops"][k]

        self.add("adapter dropped", op, lambda s: s["core"]["custom_ops"].pop(k))
        self.add("adapter misnamed", op, lambda s: at(s).update(op=op[:-1]))
        self.transforms(k, op, at)

    def transforms(self, k, op, at):
        arguments, outputs = self.archive.operators.get(op, ((), 0))
        adapter = self.spec["core"]["custom_ops"][k]
        for n in arguments:
            old = adapter["arg_transforms"].get(str(n), {}).get("type")
            place = f"{op} argument {n}"
            if old:
                self.add(f"{old} dropped", place, lambda s: at(s)["arg_transforms"].pop(str(n)))
            for new in ("gather_inputs", "slice_owned"):
                kind = f"{new} for {old}" if old else f"{new} added"
                if new != old and kind in CLASSES:
                    self.add(
                        kind,
                        place,
                        lambda s: at(s)["arg_transforms"].update({str(n): {"type": new}}),
                    )
        for n in range(outputs):
            old = adapter["output_transforms"].get(str(n), {}).get("type")
            place = f"{op} output {n}"
            if old:
                self.add(f"{old} dropped", place, lambda s: at(s)["output_transforms"].pop(str(n)))
            for new in ("scatter_outputs", "all_reduce_sum"):
                kind = f"{new} for {old}" if old else f"{new} added"
                if new != old:
                    self.add(
                        kind,
                        place,
                        lambda s: at(s)["output_transforms"].update({str(n): {"type": new}}),
                    )
        for table, of_blocks in (
            ("arg_transforms", "gather_inputs_full"),
            ("output_transforms", "slice_outputs_owned"),
        ):
            change = {"0": {"type": of_blocks}}
            self.add(
                "of graph_parallel", f"{op} {of_blocks}", lambda s: at(s)[table].update(change)
            )
            for n in adapter[table]:
                self.add(
                    "position",
                    f"{op} {table}/{n}",
                    lambda s: at(s)[table].update({"9": at(s)[table].pop(n)}),
                )

    def helper(self, k, helper):
        target = helper.get("attr_name") or helper.get("method_name")
        where = f"{k} ({target})"

        def rename(spec):
            one = spec["core"]["third_party_helpers"][k]
            one["attr_name" if "attr_name" in one else "method_name"] += "_x"

        self.add("helper dropped", where, lambda s: s["core"]["third_party_helpers"].pop(k))
        self.add("helper misnamed", where, rename)

    def outputs(self):
        energies = next(
            key
            for key, output in self.archive.card()["outputs"].items()
            if output["role"] == "atomic_energies"
        )
        for key in self.archive.output_keys():
            self.add("all_reduce_outputs", key, lambda s: s.update(all_reduce_outputs=[key]))
            for kind in ("per_graph", "global", "per_node"):
                kinds = [[k, v] for k, v in self.spec.get("output_kinds", []) if k != key]
                self.add(
                    "output_kinds",
                    f"{key} {kind}",
                    lambda s: s.update(output_kinds=sorted([*kinds, [key, kind]])),
                )
            if key != energies:
                self.add("node_energy_key", key, lambda s: s.update(node_energy_key=key))
        self.add("node_energy_key", "none", lambda s: s.update(node_energy_key=None))

    def rest(self):
        self.add("system_reductions", "false", lambda s: s.update(system_reductions=False))
        for name in (
            "model_internal",
            "framework_from_node_energy",
            "framework_from_global_energy",
        ):
            self.add(
                "force_strategy",
                name,
                lambda s: s.update(compile={"static_shapes": True, "force_strategy": name}),
            )
        self.add("gp_replicate_geometry", "true", lambda s: s.update(gp_replicate_geometry=True))
        nothing = {"op": "nobody::knows", "arg_transforms": {}, "output_transforms": {}}
        self.add("adapter of nothing", "", lambda s: s["core"]["custom_ops"].append(nothing))


def pairs(archive, count):
    """A seeded sample of those that differ in two places, of all kinds alike."""
    chance = random.Random(f"pairs of {archive.name}")
    singles = Mutations(archive, archive.right).all()
    by_kind = {}
    for mutant in singles:
        by_kind.setdefault(mutant.kind, []).append(mutant)
    found = []
    while len(found) < count:
        first = chance.choice(by_kind[chance.choice(sorted(by_kind))])
        second = Mutations(archive, first.spec, first.changes).all()
        kinds = sorted({mutant.changes[-1][0] for mutant in second} - {first.kind})
        kind = chance.choice(kinds)
        found.append(chance.choice([one for one in second if one.changes[-1][0] == kind]))
    return found
