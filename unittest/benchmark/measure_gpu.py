#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Pair style nvalchemi/kk beside what it is to be compared with, in one run on one GPU machine.

    python3 unittest/benchmark/measure_gpu.py --archive MODEL.pt --output numbers.json [section ...]

Sections, by default all that this machine can run:
    steps      step time of 64 to 32,768 atoms with graphs no and yes, and bare LibTorch on the same
               graphs; GPU memory in use of both
    scaling    2 GPUs: strong and weak scaling, with NCCL and with host staging forced
    exchange   2 GPUs: exchange_time, beside NCCL's own send and receive (--exchange-time PROGRAM)
    trace      2 GPUs: exchanges of a step, and waits of the host between them (--tracer LIBRARY)
    several    1, 2, 4 ... GPUs: strong scaling of 27,648 and 110,592 atoms, weak scaling of
               13,824 atoms a GPU, with NCCL and with host staging forced
    parity     4 ranks, on as many GPUs as there are: every case of the test archives against the
               numbers of its package
    peer       SevenNet's own styles (--peer FOLDER with lmp, serial.pt and par/)
    memory     10,000 steps of a small network (--toy ARCHIVE): GPU memory in use as they go
    sanitize   compute-sanitizer's four tools over 20 steps of that network

LAMMPS and the plugin are those of NVALCHEMI_KOKKOS_LAMMPS and NVALCHEMI_PLUGIN, ranks are started
by NVALCHEMI_MPIEXEC (default: mpiexec). Prints ratios side by side; the JSON file has all numbers.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from trace_of_exchanges import summarize_trace

HERE = Path(__file__).resolve().parent
CELLS = {64: (2, 2, 2), 512: (4, 4, 4), 4096: (8, 8, 8), 13824: (12, 12, 12)}
CELLS.update({27648: (24, 12, 12), 32768: (16, 16, 16), 55296: (24, 24, 12)})
CELLS.update({110592: (24, 24, 24)})
# what a case may differ by: energy (eV), energies of atoms, forces (eV/A), stress (eV/A^3)
BARS = {"dE": 1e-8, "dEatom": 5e-9, "dF": 5e-9, "dS": 1e-10}
# what LAMMPS of 2025 needs to tell ranks of MPICH 4 and 5 apart
# (the peer keeps arrays of all atoms on the stack)
RANK = "ulimit -s unlimited; SLURM_LOCALID=${MPI_LOCALRANKID:-0} exec"


def rock_salt(cells):
    x, y, z = cells
    return f"""units metal
atom_style atomic
boundary p p p
lattice fcc 5.64
region box block 0 {x} 0 {y} 0 {z}
create_box 2 box
create_atoms 1 region box
lattice fcc 5.64 origin 0.5 0 0
create_atoms 2 region box
mass 1 22.99
mass 2 35.45
displace_atoms all random 0.08 0.08 0.08 8123 units box
"""


class Machine:
    def __init__(self, arguments):
        self.arguments = arguments
        self.lammps = os.environ["NVALCHEMI_KOKKOS_LAMMPS"]
        self.plugin = os.environ["NVALCHEMI_PLUGIN"]
        self.mpiexec = os.environ.get("NVALCHEMI_MPIEXEC", "mpiexec")
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
        self.gpus = listing.count("UUID")
        self.folder = Path(tempfile.mkdtemp(prefix="nvalchemi-measure-"))

    def lmp(self, text, ranks=1, prefix="", kokkos=True, binary=None, env=None, timeout=300):
        """Run an input; returns what it printed. A run that fails is an error."""
        (self.folder / "in.lmp").write_text(text)
        # the peer writes to the log without asking whether there is one
        words = [binary or self.lammps, "-in in.lmp -log log.lmp"]
        if kokkos:
            words.append(f"-k on g {ranks} -sf kk -pk kokkos gpu/aware off")
        command = f"{RANK} {prefix} {' '.join(words)}"
        run = subprocess.run(
            [self.mpiexec, "-n", str(ranks), "sh", "-c", command],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if run.returncode != 0:
            raise RuntimeError((run.stdout + run.stderr)[-3000:])
        return run.stdout + run.stderr

    def model_input(self, archive, atoms, keywords, run_lines):
        return (
            f"plugin load {self.plugin}\n"
            + rock_salt(CELLS[atoms])
            + f"pair_style nvalchemi/kk selftest no {keywords}\n"
            + f"pair_coeff * * {archive} Na Cl\n"
            + "neighbor 1.0 bin\nvelocity all create 300 42\nfix 1 all nve\n"
            + "thermo 1000\nthermo_modify format float %.9g\n"
            + run_lines
        )

    def steps(self, atoms, keywords="", ranks=1, steps=20, dump=None, archive=None):
        """Seconds a step, and GiB of GPU memory in use."""
        dump_line = f"write_dump all custom {dump} id type x y z modify format float %.17g\n"
        text = self.model_input(
            archive or self.arguments.archive,
            atoms,
            keywords,
            f"run 5\n{dump_line if dump else ''}run {steps}\n",
        )
        return read_run(self.lmp(text, ranks))


def read_run(output):
    loop = re.findall(r"Loop time of (\S+) on \d+ procs for (\d+) steps", output)[-1]
    memory = re.findall(r"GPU memory in use \(min/avg/max\): \S+/\S+/(\S+?) of", output)
    replayed = re.findall(r"(\d+) of them replayed a CUDA graph, recorded (\d+)", output)
    table = re.findall(r"^ +Step +Temp +.*\n +0 +(.*)$", output, re.MULTILINE)
    found = {"seconds": float(loop[0]) / int(loop[1])}
    if table:
        found["energy_at_start"] = float(table[0].split()[1])
    if memory:
        found["gib_in_use"] = float(memory[-1])
    if replayed:
        found["replayed"], found["recorded"] = (int(n) for n in replayed[-1])
    split = re.findall(
        r"^  (graph|model|exchange|accumulate) +\| +\S+ \| +(\S+)", output, re.MULTILINE
    )
    found["split"] = {name: float(seconds) / int(loop[1]) for name, seconds in split[-4:]}
    news = re.findall(r"nvalchemi: (no CUDA graph.*)", output)
    if news:
        found["news"] = news[0]
    return found


def show(text):
    print(text, flush=True)


def measure_steps(machine):
    sizes = [64, 512, 4096, 13824, 32768]
    rows, dumps = {}, []
    for atoms in sizes:
        dumps.append(machine.folder / f"{atoms}.dump")
        many = 100 if atoms <= 512 else 15
        rows[atoms] = {"graphs_no": machine.steps(atoms, "graphs no", 1, many, dumps[-1])}
        if atoms <= 13824:
            rows[atoms]["graphs_yes"] = machine.steps(atoms, "graphs yes", 1, many)
        show(f"{atoms}: {json.dumps(rows[atoms])}")
    bare = subprocess.run(
        [sys.executable, HERE / "bare_evaluation.py", machine.arguments.archive, *dumps]
        + ["--capture", "4096"],
        capture_output=True,
        text=True,
    )
    if bare.returncode != 0:
        raise RuntimeError(bare.stderr[-3000:])
    for line in bare.stdout.splitlines():
        numbers = json.loads(line)
        row = rows[numbers["atoms"]]
        row["bare"] = numbers
        base = numbers["seconds"]
        text = f"{numbers['atoms']:6d} atoms  bare {base:.4f} s"
        for name in ("graphs_no", "graphs_yes"):
            if name in row:
                row[name]["over_bare"] = row[name]["seconds"] / base
                text += f"  {name} {row[name]['seconds']:.4f} s ({row[name]['over_bare']:.3f})"
        row["memory_over_bare"] = row["graphs_no"]["gib_in_use"] / numbers["gib_in_use"]
        show(text + f"  memory {row['memory_over_bare']:.3f}")
    return rows


def measure_scaling(machine):
    found = {}
    for name, atoms, ranks, keywords in (
        ("one_4096", 4096, 1, ""),
        ("two_4096", 4096, 2, ""),
        ("one_13824", 13824, 1, ""),
        ("two_13824", 13824, 2, ""),
        ("two_27648", 27648, 2, ""),
        ("one_27648", 27648, 1, ""),
        ("two_32768", 32768, 2, ""),
        ("two_32768_staged", 32768, 2, "halo_comm mpi"),
        ("two_13824_staged", 13824, 2, "halo_comm mpi"),
        ("two_4096_staged", 4096, 2, "halo_comm mpi"),
    ):
        found[name] = machine.steps(atoms, keywords, ranks)
        show(f"{name}: {found[name]['seconds']:.4f} s a step")
    found["strong_27648"] = found["one_27648"]["seconds"] / found["two_27648"]["seconds"]
    found["weak_13824"] = found["one_13824"]["seconds"] / found["two_27648"]["seconds"]
    show(f"strong {found['strong_27648']:.3f}  weak {found['weak_13824']:.3f}")
    return found


def measure_exchange(machine):
    output = subprocess.run(
        [machine.mpiexec, "-n", "2", machine.arguments.exchange_time],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    show(output)
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def measure_trace(machine):
    """Of SevenNet-0: four exchanges forward and four back, and one of forces (newton off)."""
    text = machine.model_input(machine.arguments.archive, 4096, "", "run 8\n")
    env = {
        "CUDA_INJECTION64_PATH": machine.arguments.tracer,
        "NVALCHEMI_TRACE": str(machine.folder / "trace"),
    }
    machine.lmp(text, 2, env=env)
    found = [summarize_trace(path, 9, 8) for path in sorted(machine.folder.glob("trace.*"))]
    show(json.dumps(found))
    return found


def measure_several(machine):
    """A size that one GPU cannot hold is told so by the text of its error."""
    counts = [n for n in (1, 2, 4, 8) if n <= machine.gpus]
    found = {}
    for comm in ("auto", "mpi"):
        rows = found[comm] = {}
        for atoms in (13824, 27648, 55296, 110592):
            for ranks in counts:
                name = f"{atoms}_{ranks}"
                if comm == "mpi" and ranks == 1:
                    continue
                try:
                    rows[name] = machine.steps(atoms, f"halo_comm {comm}", ranks, 10)
                    text = f"{rows[name]['seconds']:.4f} s a step"
                except RuntimeError as failure:
                    rows[name] = {"problem": str(failure)[-600:]}
                    text = "no result"
                show(f"{comm}: {atoms} atoms on {ranks} GPUs: {text}")
    auto = {name: row["seconds"] for name, row in found["auto"].items() if "seconds" in row}
    for ranks in counts[1:]:
        for atoms in (27648, 110592):
            if {f"{atoms}_1", f"{atoms}_{ranks}"} <= set(auto):
                speed = auto[f"{atoms}_1"] / auto[f"{atoms}_{ranks}"]
                found[f"strong_{atoms}_{ranks}"] = speed
                show(f"strong, {atoms} atoms on {ranks} GPUs: {speed:.3f}")
        weak = f"{13824 * ranks}_{ranks}"
        if weak in auto:
            found[f"weak_{ranks}"] = auto["13824_1"] / auto[weak]
            show(f"weak on {ranks} GPUs: {found[f'weak_{ranks}']:.3f}")
    return found


def measure_parity(machine):
    """Of each archive: the largest differences over its cases."""
    folders = [HERE.parent / "models" / "archives", os.environ.get("NVALCHEMI_TEST_MODELS")]
    archives = [path for folder in folders if folder for path in sorted(Path(folder).glob("*.pt"))]
    found = {}
    for archive in archives:
        for case in sorted(archive.parent.glob("*_*64.json")):
            stem = case.name.rsplit("_", 1)[0]
            if not archive.stem.startswith(stem):
                continue
            command = [sys.executable, HERE.parent / "mpi" / "run_case.py", "--archive", archive]
            command += ["--card", archive.with_suffix(".card.json"), "--case", case, "-n", "4"]
            command += ["--style", "nvalchemi/kk", "--newton", "off", "--against", "case"]
            command += ["--lammps", machine.lammps, "--kokkos"]
            command.append(f"on g {machine.gpus} -pk kokkos gpu/aware off newton off neigh full")
            run = subprocess.run(command, capture_output=True, text=True)
            name = f"{archive.stem} {case.stem}"
            if run.returncode != 0:
                found[name] = {"problem": (run.stdout + run.stderr)[-600:]}
                show(f"{name}: FAILED {found[name]['problem']}")
                continue
            numbers = json.loads(run.stdout.splitlines()[-1])
            found[name] = {key: numbers[key] for key in BARS}
            good = all(found[name][key] <= bar for key, bar in BARS.items())
            show(f"{name}: {json.dumps(found[name])} {'ok' if good else 'DIFFERENT'}")
    return found


def measure_peer(machine):
    folder, found = Path(machine.arguments.peer).resolve(), {}
    for ranks in (1, 2)[: machine.gpus]:
        style = "e3gnn" if ranks == 1 else "e3gnn/parallel"
        model = f"{folder}/serial.pt" if ranks == 1 else f"5 {folder}/par"
        for atoms in (4096, 13824, 32768):
            text = (
                f"{rock_salt(CELLS[atoms])}pair_style {style}\npair_coeff * * {model} Na Cl\n"
                "neighbor 1.0 bin\nvelocity all create 300 42\nfix 1 all nve\n"
                "thermo 1000\nthermo_modify format float %.9g\nrun 5\nrun 15\n"
            )
            output = machine.lmp(text, ranks, kokkos=False, binary=str(folder / "lmp"))
            found[f"{atoms}_{ranks}"] = read_run(output)
            show(f"{style} {atoms} atoms: {found[f'{atoms}_{ranks}']['seconds']:.4f} s a step")
    return found


def measure_memory(machine):
    """GiB in use after every 2,000 of 10,000 steps at 1,200 K."""
    found = {}
    for use in ("no", "yes"):
        lines = "velocity all create 1200 42\nneigh_modify every 1 delay 0 check yes\n"
        text = machine.model_input(
            machine.arguments.toy, 512, f"graphs {use}", lines + "run 2000\n" * 5
        )
        output = machine.lmp(text, 1)
        used = re.findall(r"in use \(min/avg/max\): \S+/\S+/(\S+?) of", output)
        found[use] = {**read_run(output), "gib_after_each_2000": [float(x) for x in used]}
        show(f"graphs {use}: {json.dumps(found[use])}")
    return found


def measure_sanitizer(machine):
    found = {}
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        for use in ("no", "yes") if tool == "memcheck" else ("no",):
            text = machine.model_input(machine.arguments.toy, 64, f"graphs {use}", "run 20\n")
            name = f"{tool}, graphs {use}"
            prefix = f"compute-sanitizer --tool {tool} --print-limit 5 --target-processes all"
            if tool == "racecheck":  # minutes for all of LibTorch's kernels
                prefix += " --kernel-name kns=Kokkos"
            try:
                output = machine.lmp(text, 1, prefix, timeout=machine.arguments.sanitizer_timeout)
            except (RuntimeError, subprocess.TimeoutExpired) as failure:
                output = str(failure)[-3000:]
            lines = [line for line in output.splitlines() if line.startswith("=====")]
            found[name] = lines[-1] if lines else output[-300:]
            show(f"{name}: {found[name]}")
            if "0 errors" not in found[name]:
                show("\n".join(lines[:40]))
    return found


SECTIONS = {
    "steps": (measure_steps, 1, None),
    "scaling": (measure_scaling, 2, None),
    "exchange": (measure_exchange, 2, "exchange_time"),
    "trace": (measure_trace, 2, "tracer"),
    "several": (measure_several, 2, None),
    "parity": (measure_parity, 1, None),
    "peer": (measure_peer, 1, "peer"),
    "memory": (measure_memory, 1, "toy"),
    "sanitize": (measure_sanitizer, 1, "toy"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sections", nargs="*", help="some of " + ", ".join(SECTIONS))
    parser.add_argument("--archive", required=True)
    parser.add_argument("--toy")
    parser.add_argument("--output", required=True)
    parser.add_argument("--exchange-time")
    parser.add_argument("--tracer")
    parser.add_argument("--peer")
    parser.add_argument("--sanitizer-timeout", type=float, default=120)
    arguments = parser.parse_args()
    for name in ("archive", "toy", "exchange_time", "tracer"):
        value = getattr(arguments, name)
        setattr(arguments, name, value and str(Path(value).resolve()))
    machine = Machine(arguments)
    output = Path(arguments.output)
    numbers = json.loads(output.read_text()) if output.exists() else {}
    failed = 0
    for name in arguments.sections or SECTIONS:
        measure, gpus, needs = SECTIONS[name]
        if machine.gpus < gpus or (needs and not getattr(arguments, needs)):
            show(f"--- {name}: left out ({machine.gpus} GPUs, {needs or 'no'} option)")
            continue
        show(f"--- {name}")
        try:
            numbers[name] = measure(machine)
        except (RuntimeError, subprocess.SubprocessError) as failure:
            show(f"{name} failed: {failure}")
            failed += 1
        output.write_text(json.dumps(numbers, indent=1) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
