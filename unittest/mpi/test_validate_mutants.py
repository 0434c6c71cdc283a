# SPDX-License-Identifier: GPL-2.0-only
"""Specs that differ from a right one in one place, or in two, on archives of several families.

Each is run with fix nvalchemi/validate and autofix. It is refused at pair_coeff with an edit that
mends it, or found by the fix, diagnosed and mended, or it passes; then it must be equivalent: right
on another structure, on another grid of ranks, and preferably with the exchanges of the right spec.
What the diagnosis is to say follows from what was changed, by a table in spec_mutations.py.

    python3 unittest/mpi/test_validate_mutants.py --long [--table=FILE] [--only=ARCHIVE,...]
"""

import copy
import json
import random
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from installation import REPOSITORY, find_build_file
from spec_mutations import Mutations, pairs
from structure import Structure
from suite import LONG, Model, ValidateTest, main, model, one_line

EXAMPLES = REPOSITORY / "examples" / "lammps"
HALO = json.loads((REPOSITORY / "spec" / "presets" / "SPEC_MPNN_HALO.json").read_text())
TABLE = next((word[8:] for word in sys.argv if word.startswith("--table=")), None)
ONLY = next((word[7:].split(",") for word in sys.argv if word.startswith("--only=")), None)
sys.argv = [word for word in sys.argv if not word.startswith(("--table=", "--only="))]
PAIRS = 12 if LONG else 1  # of each archive
QUICK = 5  # single ones of each archive in the CI tier
PATCH = re.compile(r"What would mend it \((\w+)\): the edit (\[.*?\]) of \S+ passes on a chain")


@dataclass
class Archive:
    """An archive, its right spec, and the operators of its library: name -> (tensor arguments,
    outputs)."""

    model: Model
    right: dict
    words: str = ""
    operators: dict = field(default_factory=dict)

    @property
    def name(self):
        return self.model.name

    def structures(self):
        """Two that have little in common."""
        first = self.model.case("nacl64")[0]
        if self.model.folder is not None:
            return first, self.model.case("si64")[0]
        other = first.repeated((2, 1, 1))
        noise = np.random.default_rng(8).normal(scale=0.05, size=other.positions.shape)
        return first, Structure(other.symbols, other.positions + noise, other.cell)

    def output_keys(self):
        return list(self.card()["outputs"])

    def card(self):
        path = Path(self.model.archive)
        beside = path.with_suffix(".card.json")
        if beside.exists():
            return json.loads(beside.read_text())
        with zipfile.ZipFile(path) as archive:
            name = next(n for n in archive.namelist() if n.endswith("nvalchemi.json"))
            return json.loads(archive.read(name))


def example(name, library, operators):
    """An example with operators of its own; the right spec is that of its card."""
    path = EXAMPLES / name / f"{name}.pt"
    archive = Archive(Model(name, str(path), 5.0, 0, None), {}, operators=operators)
    archive.right = archive.card()["spec"]
    archive.words = f"ops {find_build_file(library)}"
    return archive


def archives():
    names = ["toy_index_add"]
    if LONG:
        names += ["toy_scatter_reduce", "d3bj_pbe", "mace_rand_f64", "nequip_rand_f64"]
        names += ["nequip_rand_f64_energy", "allegro_rand_f64_energy", "sevennet_0_f64"]
    found = [Archive(model(name), HALO) for name in names]
    push = {"fused_message::push": ((0, 1, 2, 3, 4), 1), "fused_message::pool": ((0,), 1)}
    found.append(example("graph_transformer", "libfused_message.so", push))
    if LONG:
        edges = {"escn::node_to_edge": ((0, 1, 2, 3), 1), "escn::edge_to_node": ((0, 1, 2, 3), 1)}
        found.append(example("escn", "libescn_edges.so", edges))
    return [archive for archive in found if ONLY is None or archive.name in ONLY]


def patched(spec, patch):
    """RFC 6902, as far as edits of specs need it."""
    spec = copy.deepcopy(spec)
    for step in patch:
        words = [w.replace("~1", "/").replace("~0", "~") for w in step["path"].split("/")[1:]]
        place = spec
        for word in words[:-1]:
            place = place[int(word) if isinstance(place, list) else word]
        last = words[-1]
        if not isinstance(place, list):
            if step["op"] == "remove":
                del place[last]
            else:
                place[last] = step["value"]
        elif step["op"] == "add":
            place.insert(len(place) if last == "-" else int(last), step["value"])
        elif step["op"] == "remove":
            place.pop(int(last))
        else:
            place[int(last)] = step["value"]
    return spec


@dataclass
class Outcome:
    how: str  # refused, found or passed
    symptom: str = ""
    mended: bool = False
    reason: str = ""  # why it is equivalent


class Tally:
    def __init__(self):
        self.rows = []  # (archive, mutant, outcome)

    def add(self, archive, mutant, ranks, outcome):
        self.rows.append((archive.name, mutant, outcome))
        named = "" if outcome.how == "passed" else "named" if self.named(mutant, outcome) else "NOT"
        print(
            f"{archive.name}: {mutant.name} [{ranks} ranks]: {outcome.how} {outcome.symptom} "
            f"{named} {outcome.reason} {'mended' if outcome.mended else ''}",
            flush=True,
        )

    @staticmethod
    def named(mutant, outcome):
        return outcome.symptom in mutant.classes

    def counts(self, rows):
        wrong = [(mutant, outcome) for _, mutant, outcome in rows if outcome.how != "passed"]
        return {
            "mutants": len(rows),
            "equivalent": len(rows) - len(wrong),
            "refused": sum(outcome.how == "refused" for _, outcome in wrong),
            "found": sum(outcome.how == "found" for _, outcome in wrong),
            "named": sum(self.named(mutant, outcome) for mutant, outcome in wrong),
            "mended": sum(outcome.mended for _, outcome in wrong),
        }

    def table(self, heading, key):
        """reStructuredText."""
        groups = {}
        for row in self.rows:
            groups.setdefault(key(row), []).append(row)
        names = list(self.counts([]))
        lines = [".. list-table::", "   :header-rows: 1", "", f"   * - {heading}"]
        lines += [f"     - {name}" for name in names]
        for name, rows in [*sorted(groups.items()), ("together", self.rows)]:
            lines += [f"   * - {name}", *(f"     - {n}" for n in self.counts(rows).values())]
        return "\n".join(lines)

    def equivalents(self):
        grouped = {}
        for name, mutant, outcome in self.rows:
            if outcome.how == "passed":
                grouped.setdefault((mutant.name, outcome.reason), []).append(name)
        lines = []
        for (mutant, reason), names in sorted(grouped.items()):
            lines.append(f"* {mutant} ({', '.join(names)}): {reason}")
        return "\n".join(lines)

    def text(self):
        def kind(row):
            return row[1].kind if len(row[1].changes) == 1 else "pairs"

        return "\n\n".join(
            [
                self.table("archive", lambda row: row[0]),
                self.table("changed", kind),
                "Equivalent ones:",
                self.equivalents(),
            ]
        )


def exchanges_of(report):
    trace = report["trace"]
    return json.dumps([trace["planned"], trace["events"]], sort_keys=True)


class SpecMutants(ValidateTest):
    timeout = 600

    def run_spec(self, archive, spec, structure, ranks, words, selftest="no", processors=""):
        (self.folder / "mutant.json").write_text(json.dumps(spec))
        for name in ("check.json", "check.spec.json"):
            (self.folder / name).unlink(missing_ok=True)
        return self.run_fix(
            f"report check.json on_failure warn {words}",
            ranks=ranks,
            archive=archive.model,
            structure=structure,
            pair_arguments=f"{archive.words} spec mutant.json selftest {selftest}",
            processors=processors,
        )

    def report(self):
        path = self.folder / "check.json"
        return json.loads(path.read_text()) if path.exists() else None

    def passes(self, archive, spec, structure, ranks, processors=""):
        run = self.run_spec(archive, spec, structure, ranks, "", "yes", processors)
        report = self.report()
        return run.status == 0 and report is not None and report["ok"]

    def outcome(self, archive, mutant, ranks, right):
        first, second = archive.structures()
        run = self.run_spec(archive, mutant.spec, first, ranks, "autofix apply")
        report = self.report()
        text = one_line(run.output)
        if report is None:
            return self.refused(archive, mutant, first, run)
        if report["ok"]:
            same = exchanges_of(report) == right[ranks]
            shown = self.passes(archive, mutant.spec, second, 4, "4 1 1") and self.passes(
                archive, mutant.spec, first, 4, "2 2 1"
            )
            self.assertTrue(shown, f"{archive.name}: {mutant.name}: right on {ranks} ranks only")
            why = "the exchanges of the right spec" if same else "right with other exchanges"
            return Outcome("passed", reason=why)
        self.assertEqual(report["run"]["blame"], "spec", mutant.name)
        symptom = report["diagnostics"][0]["symptom"] if report["diagnostics"] else ""
        proposed = self.folder / "check.spec.json"
        mended = proposed.exists() and self.passes(
            archive, json.loads(proposed.read_text()), first, ranks
        )
        self.assertIn("Next: ", text)
        return Outcome("found", symptom, mended)

    def refused(self, archive, mutant, structure, run):
        """At pair_coeff: the message has to say what to do."""
        text = one_line(run.message)
        self.assertNotIn("Validation by fix", run.output)
        found = PATCH.search(text)
        if found is None:
            self.assertIn("Look for a spec that passes on a structure of your own, by", text)
            said = re.search(r"Diagnosis \((\w+)\)", text)
            return Outcome(
                "refused", said[1] if said else "", self.mended_by_command(text, structure)
            )
        mended = self.passes(
            archive, patched(self.canonical(mutant.spec), json.loads(found[2])), structure, 3
        )
        return Outcome("refused", found[1], mended)

    def mended_by_command(self, text, structure):
        """Whether the command line of the message finds a spec that passes."""
        (self.folder / "STRUCTURE.json").write_text(json.dumps(structure.to_document()))
        words = re.search(r"'nvalchemi-validate ([^']*)'", text)[1].split()
        done = subprocess.run(
            [find_build_file("nvalchemi-validate"), *words], cwd=self.folder, capture_output=True
        )
        return done.returncode == 0

    def canonical(self, spec):
        """As the edit sees it: written by nvalchemi-spec."""
        path = self.folder / "plain.json"
        path.write_text(json.dumps(spec))
        tool = find_build_file("nvalchemi-spec")
        done = subprocess.run(
            [tool, "canonical", "--lenient", str(path)], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def chosen(self, archive):
        singles = Mutations(archive, archive.right).all()
        if not LONG:
            chance = random.Random(f"some of {archive.name}")
            singles = chance.sample(singles, min(QUICK, len(singles)))
        return singles + pairs(archive, PAIRS)

    def test_each_is_found_named_and_mended_or_equivalent(self):
        tally = Tally()
        for archive in archives():
            right = {}
            for ranks in (2, 3, 4):
                self.assertTrue(self.passes(archive, archive.right, archive.structures()[0], ranks))
                right[ranks] = exchanges_of(self.report())
            for number, mutant in enumerate(self.chosen(archive)):
                with self.subTest(archive=archive.name, mutant=mutant.name):
                    ranks = 2 + number % 3
                    tally.add(archive, mutant, ranks, self.outcome(archive, mutant, ranks, right))
        print(tally.text())
        if TABLE:
            Path(TABLE).write_text(tally.text() + "\n")
        counts = tally.counts(tally.rows)
        wrong = counts["refused"] + counts["found"]
        self.assertGreater(wrong, counts["mutants"] // 4)
        self.assertGreaterEqual(10 * counts["named"], 9 * wrong)
        self.assertGreaterEqual(10 * counts["mended"], 9 * wrong)


if __name__ == "__main__":
    main()
