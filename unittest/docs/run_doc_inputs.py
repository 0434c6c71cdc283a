# SPDX-License-Identifier: GPL-2.0-only
"""Runs every LAMMPS input block of doc and README.md, so that no page shows what does not work.

python3 run_doc_inputs.py [--ranks N] [--list] [PAGE...]

A block in LAMMPS's language (a fenced block, `code-block:: LAMMPS`, or `literalinclude` with that
language) is preceded by a comment `lammps-input: KIND`:

    whole   a complete input, run as it stands
    next    a complete input that goes on where the block before it ended, in the same folder
    installed  a complete input without plugin load, as after pip install
    pair    pair_style and pair_coeff, run in a small NaCl crystal
    fix     commands after pair_style, run in the same crystal
    gpu     like pair, but only where there is a GPU
    kokkos  like pair, in the LAMMPS with KOKKOS (NVALCHEMI_KOKKOS_LAMMPS), with -k on -sf kk
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import textwrap
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "unittest" / "mpi"))
sys.path.insert(1, str(REPOSITORY / "unittest" / "checks"))
sys.path.insert(2, str(REPOSITORY / "unittest"))

from installation import NotInstalled, find_installation  # noqa: E402
from simulation import run_lammps  # noqa: E402
from source_tree import list_files  # noqa: E402
from test_report import Case, report_of_environment, write_report  # noqa: E402

EXAMPLES = REPOSITORY / "examples" / "lammps"
ARCHIVE = EXAMPLES / "minimal" / "example_network.pt"
CARD_IN_ARCHIVE = "extra/nvalchemi.json"
SPEC = '{"version": 2, "core": {"policy": {"kind": "halo"}}}'
KINDS = ("whole", "next", "installed", "pair", "fix", "gpu", "kokkos")

MARKER = re.compile(r"^\s*(?:\.\.|<!--) lammps-input: *(\w*)(?: *-->)?\s*$")
RST_BLOCK = re.compile(r"^(\s*)\.\. code-block:: LAMMPS\s*$")
RST_INCLUDE = re.compile(r"^(\s*)\.\. literalinclude:: (\S+)\s*$")
FENCE = re.compile(r"^```LAMMPS\s*$")

CRYSTAL = """
units           metal
lattice         custom 5.64 basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 &
                            basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5
region          box block 0 2 0 2 0 2
create_box      2 box
create_atoms    1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass            1 22.99
mass            2 35.45
displace_atoms  all random 0.1 0.1 0.1 1 units box
"""
PAIR = "pair_style nvalchemi\npair_coeff * * model.pt Na Cl\n"
MOTION = "fix move all nve\nthermo 1\nrun 2\n"


class PageError(Exception):
    """A page that this script cannot follow."""


@dataclass
class Block:
    page: str
    line: int
    kind: str
    text: str

    @property
    def name(self):
        return f"{self.page}:{self.line} ({self.kind})"


def indented_block(lines, start, indent):
    """Lines after `start` that are empty or indented deeper, without options such as :name: x."""
    block = []
    for line in lines[start:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        block.append(line)
    text = [line for line in block if not re.match(r"^\s*:\w+:", line)]
    return textwrap.dedent("\n".join(text)).strip() + "\n"


def read_blocks(path):
    """All LAMMPS blocks of a page. A block without a known marker before it is an error."""
    lines = path.read_text().splitlines()
    blocks, marker = [], None
    for number, line in enumerate(lines):
        found = MARKER.match(line)
        if found:
            marker = found[1]
            continue
        text = block_text(path, lines, number)
        if text is None:
            if line.strip():
                marker = None
            continue
        where = f"{path.name}:{number + 1}"
        if marker not in KINDS:
            raise PageError(
                f"{where}: got a LAMMPS block after marker {marker!r}, expected a "
                f"comment 'lammps-input: KIND' before it, KIND one of {KINDS}"
            )
        if marker == "next" and not blocks:
            raise PageError(f"{where}: got a next input, expected another block before it")
        blocks.append(Block(path.name, number + 1, marker, text))
        marker = None
    return blocks


def block_text(path, lines, number):
    """Text of the LAMMPS block that begins at this line, or None."""
    line = lines[number]
    if FENCE.match(line):
        end = lines.index("```", number + 1)
        return "\n".join(lines[number + 1 : end]) + "\n"
    found = RST_BLOCK.match(line)
    if found:
        return indented_block(lines, number + 1, len(found[1]))
    found = RST_INCLUDE.match(line)
    if found and any(":language: LAMMPS" in option for option in lines[number + 1 : number + 4]):
        return (path.parent / found[2]).read_text()
    return None


def complete(block, plugin):
    """The input that is run for a block."""
    load = f"plugin load {plugin}\n"
    if block.kind in ("whole", "next"):
        if not re.search(r"^plugin load ", block.text, re.M):
            raise PageError(f"{block.name}: a whole input begins with plugin load")
        return re.sub(r"^plugin load .*\n", load, block.text, flags=re.M)
    if block.kind == "installed":
        if "plugin load" in block.text:
            raise PageError(f"{block.name}: an installed package needs no plugin load")
        return block.text
    if block.kind == "fix":
        return load + CRYSTAL + PAIR + block.text + MOTION
    return load + CRYSTAL + block.text + MOTION


def files_of(folder):
    """The project's own files below a top folder; what a run has left there is none of them."""
    return [REPOSITORY / path for path in list_files(REPOSITORY) if path.parts[0] == folder]


def example_named(name):
    return next((path for path in files_of("examples") if path.name == name), None)


def provide_files(text, folder):
    """Put an archive, card or spec under every name that the input mentions: the example's of that
    name, or else a small one. Data files are those of the examples."""
    for name in re.findall(r"\S+\.pt\b", text):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(example_named(target.name) or ARCHIVE, target)
    for name in re.findall(r"^read_data\s+(\S+)", text, re.M):
        shutil.copy(example_named(name), folder / name)
    for name in re.findall(r"\S+\.spec\.json\b", text):
        (folder / name).write_text(SPEC)
    with zipfile.ZipFile(ARCHIVE) as archive:
        (card,) = (n for n in archive.namelist() if n.endswith(CARD_IN_ARCHIVE))
        for name in re.findall(r"\S+\.card\.json\b", text):
            (folder / name).write_bytes(archive.read(card))


def run_block(block, installation, ranks, folder):
    """Empty if LAMMPS ran the block to its end in this folder, else what it said."""
    text = complete(block, installation.plugin)
    arguments, environment = (), {}
    if block.kind == "kokkos":
        installation = replace(installation, lammps=os.environ["NVALCHEMI_KOKKOS_LAMMPS"])
        arguments = ("-k", "on", "-sf", "kk")
    if block.kind == "installed":
        environment["LAMMPS_PLUGIN_PATH"] = str(Path(installation.plugin).parent)
    provide_files(text, folder)
    run = run_lammps(installation, text, ranks, folder, 300, arguments, environment)
    if run.status != 0:
        return run.message
    return "" if "Total wall time" in run.output else "the run did not reach its end"


def missing_for(block):
    """What this machine lacks to run a block, or empty."""
    if block.kind == "gpu" and not os.path.exists("/dev/nvidia0"):
        return "no GPU"
    if block.kind == "kokkos" and not os.environ.get("NVALCHEMI_KOKKOS_LAMMPS"):
        return "no LAMMPS with KOKKOS (NVALCHEMI_KOKKOS_LAMMPS)"
    return ""


def case_of(block, installation, ranks, folder):
    missing = missing_for(block)
    if missing:
        print(f"{'skipped':8} {block.name}: {missing}")
        return Case(block.name, skips=[missing])
    problem = run_block(block, installation, ranks, folder)
    print(f"{'FAILED' if problem else 'ok':8} {block.name}", flush=True)
    if problem:
        print(textwrap.indent(problem, "    "))
    return Case(block.name, assertions=1, failures=[problem] if problem else [])


def run_blocks(blocks, installation, ranks, root):
    """The case of each block, run in order, in folders below `root`."""
    cases = []
    for number, block in enumerate(blocks):
        if block.kind != "next":
            folder = root / str(number)
            folder.mkdir()
        cases.append(case_of(block, installation, ranks, folder))
    return cases


def pages(named):
    if named:
        return [Path(name) for name in named]
    return [REPOSITORY / "README.md", *(p for p in files_of("doc") if p.suffix == ".rst")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="name the blocks, run nothing")
    parser.add_argument("pages", nargs="*")
    options = parser.parse_args()
    report = report_of_environment()
    try:
        blocks = [block for page in pages(options.pages) for block in read_blocks(page)]
    except PageError as problem:
        sys.exit(f"error: {problem}")
    if options.list:
        print("\n".join(block.name for block in blocks))
        return 0
    try:
        installation = find_installation()
    except NotInstalled as missing:
        print(f"SKIPPED: {missing}")
        return 77  # what ctest counts as skipped
    with tempfile.TemporaryDirectory() as folder:
        cases = run_blocks(blocks, installation, options.ranks, Path(folder))
    if report:
        write_report(report, cases)
    failed = sum(bool(case.failures) for case in cases)
    print(f"{len(blocks)} blocks, {failed} failed")
    return 1 if failed or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
