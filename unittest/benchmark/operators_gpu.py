#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This package's operators on a GPU beside the kernels of others, in one run on the same systems.

    python3 unittest/benchmark/operators_gpu.py --output numbers.json [section ...]

Sections, by default all:
    lj       Lennard-Jones argon: energies, forces and virial
    ewald    Ewald's sum of a rattled rock salt: energies, forces and virial
    d3       DFT-D3(BJ), with --d3 ARCHIVE of nvalchemi-export-d3 that knows Na and Cl: the same
    lammps   lj/cut/kk and nvalchemi/kk with --lj ARCHIVE (argon, 8.5 Angstrom): seconds a step

The first three compare with the Python package nvalchemi-toolkit-ops (Warp), where it can be
imported, and check that its numbers are ours. NVALCHEMI_KERNELS_LIBRARY is this package's library
of operators; LAMMPS and the plugin are those of NVALCHEMI_KOKKOS_LAMMPS and NVALCHEMI_PLUGIN.
Prints ratios side by side; the JSON file has all numbers. Seconds are medians.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import cKDTree

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "potentials" / "exporters"))
EV_OF_HARTREE, BOHR = 27.211386245988, 0.529177210903


class System:
    """A periodic crystal, rattled, and its edges within `cutoff` in the order of receivers.

    A block of `cells` unit cells, wider than twice the cutoff, is repeated `repeats` times along
    each axis, so that the search for neighbours is one of a small box.
    """

    def __init__(self, basis, lattice, cells, repeats, cutoff, dtype, kinds):
        assert cells * lattice > 2 * cutoff
        steps = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 3)
        generator = np.random.default_rng(1)
        block = (steps[:, None] + np.array(basis)).reshape(-1, 3) * lattice
        block += generator.uniform(-0.1, 0.1, block.shape)
        length, n = cells * lattice, len(block)
        wrapped = np.mod(block, length)
        pairs = cKDTree(wrapped, boxsize=length).query_pairs(cutoff, output_type="ndarray")
        i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
        order = np.argsort(i, kind="stable")
        i, j = (torch.tensor(index[order], device="cuda") for index in (i, j))
        places = torch.tensor(wrapped, device="cuda")
        shift = -torch.round((places[j] - places[i]) / length).long()
        tiles = torch.stack(
            torch.meshgrid(*[torch.arange(repeats, device="cuda")] * 3, indexing="ij"), -1
        ).reshape(-1, 3)
        target = tiles[:, None] + shift
        turns = torch.div(target, repeats, rounding_mode="floor")
        target = target - turns * repeats
        tile = (target[..., 0] * repeats + target[..., 1]) * repeats + target[..., 2]
        self.receivers = (torch.arange(len(tiles), device="cuda")[:, None] * n + i).reshape(-1)
        self.senders = (tile * n + j).reshape(-1)
        self.shifts = turns.reshape(-1, 3).int()
        self.atoms = n * len(tiles)
        self.positions = (tiles[:, None] * length + places).reshape(-1, 3).to(dtype)
        self.cell = torch.eye(3, dtype=dtype, device="cuda") * (length * repeats)
        self.kind = torch.tensor(kinds, device="cuda").repeat(self.atoms // len(kinds))
        self.index = torch.stack([self.receivers, self.senders])
        counts = torch.bincount(self.receivers, minlength=self.atoms)
        self.pointer = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).int()
        self.list = self.index.int()

    def vectors(self, positions=None, cell=None):
        positions = self.positions if positions is None else positions
        cell = self.cell if cell is None else cell
        shift = self.shifts.to(positions.dtype) @ cell
        return positions[self.senders] - positions[self.receivers] + shift

    def from_gradient(self, vectors, gradient):
        """Forces and virial."""
        forces = torch.zeros_like(self.positions).index_add_(0, self.receivers, gradient)
        forces.index_add_(0, self.senders, gradient, alpha=-1.0)
        return forces, -vectors.t() @ gradient

    def sizes(self):
        return {"atoms": self.atoms, "edges": len(self.receivers)}


FCC = [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
ROCK_SALT = FCC + [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5], [0.5, 0.5, 0.5]]
SALT_KINDS = [0, 0, 0, 0, 1, 1, 1, 1]


def seconds(function, repeats=15):
    for _ in range(4):
        function()
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def compare(name, ours, theirs):
    """{who: seconds} of both, and our best over their best."""
    row = {"ours": ours, "theirs": theirs}
    text = "  ".join(f"{who} {1e3 * t:.3f} ms" for who, t in {**ours, **theirs}.items())
    if theirs:
        row["ratio"] = min(ours.values()) / min(theirs.values())
        text += f"  ratio {row['ratio']:.2f}"
    print(f"{name}: {text}", flush=True)
    return row


def expect_close(found, expected, bar, what):
    difference = (found.double() - expected.double()).abs().max().item()
    scale = max(expected.double().abs().max().item(), 1e-30)
    if not difference <= bar * scale:
        raise RuntimeError(f"{what}: {difference:g} apart, of {scale:g}")


def toolkit():
    """The package to compare with, or None."""
    try:
        import nvalchemiops  # noqa: F401
    except ImportError:
        print("nvalchemi-toolkit-ops is not here: nothing to compare with")
        return False
    return True


def lj_case(dtype):
    epsilon, sigma, cutoff = 0.0104, 3.4, 8.5
    system = System(FCC, 5.3, 10, 5, cutoff, dtype, [0])
    table = torch.tensor([epsilon, sigma, cutoff, 0.0], dtype=dtype, device="cuda")
    table, vectors = table.reshape(4, 1, 1), system.vectors()
    operator = torch.ops.nvalchemi_lmp.lj_energy_forces_virial

    def alone():
        return operator(vectors, system.index, system.kind, table)

    def with_vectors():
        return operator(system.vectors(), system.index, system.kind, table)

    ours, theirs = {"operator": seconds(alone)}, {}
    detail = {"with_vectors": seconds(with_vectors)}
    if toolkit():
        import warp
        from nvalchemiops.interactions.lj import lj_energy_forces_virial

        vec = warp.vec3d if dtype == torch.float64 else warp.vec3f
        mat = warp.mat33d if dtype == torch.float64 else warp.mat33f
        words = {
            "positions": warp.from_torch(system.positions, dtype=vec),
            "cell": warp.from_torch(system.cell.unsqueeze(0), dtype=mat),
            "neighbor_list": warp.from_torch(system.list),
            "neighbor_ptr": warp.from_torch(system.pointer),
            "neighbor_shifts": warp.from_torch(system.shifts, dtype=warp.vec3i),
        }

        def other():
            with warp.ScopedStream(warp.stream_from_torch()):
                return lj_energy_forces_virial(
                    **words, epsilon=epsilon, sigma=sigma, cutoff=cutoff,
                    half_neighbor_list=False,
                )  # fmt: skip

        theirs["warp"] = seconds(other)
        forces = warp.to_torch(other()[1])
        bar = 1e-10 if dtype == torch.float64 else 1e-3
        expect_close(alone()[1], forces, bar, "forces of Lennard-Jones")
    name = f"lj {str(dtype)[6:]}"
    row = {**system.sizes(), **detail, **compare(name, ours, theirs)}
    print(f"  with the vectors of edges: {1e3 * detail['with_vectors']:.3f} ms")
    return {name: row}


def measure_lj(arguments):
    return lj_case(torch.float64) | lj_case(torch.float32)


def ewald_case(accuracy):
    from coulomb import COULOMB, choose

    cutoff, dtype = 9.0, torch.float64
    system = System(ROCK_SALT, 5.64, 6, 2, cutoff, dtype, SALT_KINDS)
    charges = 1.0 - 2.0 * system.kind.to(dtype)
    density = system.atoms / system.cell[0, 0].item() ** 3
    alpha, k_max = choose(accuracy, cutoff, density, 1.0)
    operators, n = torch.ops.nvalchemi_lmp, system.atoms

    def energies(vectors, positions, cell, setup):
        real = operators.ewald_real_energies(vectors, system.index, charges, alpha)
        factors = operators.ewald_structure_factors(positions, charges, cell, setup, k_max)
        far = operators.ewald_reciprocal_energies(
            positions, charges, cell, setup, factors, alpha, k_max
        )
        return real, far

    def ours():
        vectors = system.vectors().requires_grad_()
        positions = system.positions.clone().requires_grad_()
        cell = system.cell.clone().requires_grad_()
        real, far = energies(vectors, positions, cell, system.cell)
        of_vectors, of_positions, of_cell = torch.autograd.grad(
            (real + far).sum(), (vectors, positions, cell)
        )
        forces, virial = system.from_gradient(vectors.detach(), of_vectors)
        forces = COULOMB * (forces - of_positions)
        virial = virial - system.positions.t() @ of_positions - system.cell.t() @ of_cell
        return COULOMB * (real + far).detach(), forces, COULOMB * virial

    def real_only():
        vectors = system.vectors().requires_grad_()
        real = operators.ewald_real_energies(vectors, system.index, charges, alpha)
        return system.from_gradient(vectors.detach(), torch.autograd.grad(real.sum(), vectors)[0])

    mine, theirs = {"operators": seconds(ours)}, {}
    detail = {"real": seconds(real_only), "alpha": alpha, "k_max": k_max}
    if toolkit():
        from nvalchemiops.torch.interactions.electrostatics.ewald import ewald_summation
        from nvalchemiops.torch.interactions.electrostatics.k_vectors import (
            generate_k_vectors_ewald_summation,
        )

        k_vectors = generate_k_vectors_ewald_summation(system.cell, k_max)

        def total(**words):
            return ewald_summation(
                words.pop("positions", system.positions), charges, system.cell, alpha=alpha,
                k_vectors=k_vectors, neighbor_list=system.list, neighbor_ptr=system.pointer,
                neighbor_shifts=system.shifts, **words,
            )  # fmt: skip

        def by_autograd():
            positions = system.positions.clone().requires_grad_()
            energy = total(positions=positions)
            return -torch.autograd.grad(energy.sum(), positions)[0]

        def direct():
            return total(compute_forces=True, compute_virial=True)

        theirs["warp"] = seconds(direct, 7)
        theirs["warp, forces by autograd"] = seconds(by_autograd, 7)
        detail["k_vectors"] = k_vectors.shape[-2]
        # either sum is as accurate as was asked for: they may choose other wave vectors
        off = (ours()[1] - COULOMB * direct()[1]).abs().max().item()
        if not off <= accuracy * COULOMB:
            raise RuntimeError(f"forces of Ewald's sum: {off:g} eV/A apart, for {accuracy:g}")
        detail["forces_apart"] = off
    name = f"ewald {accuracy:g}"
    row = {**system.sizes(), **detail, **compare(name, mine, theirs)}
    print(f"  real space of it: {1e3 * detail['real']:.3f} ms, {n} atoms")
    return {name: row}


def measure_ewald(arguments):
    return ewald_case(1e-4) | ewald_case(1e-6)


def d3_case(arguments, dtype):
    files = {"nvalchemi.json": ""}
    model = torch.jit.load(arguments.d3, map_location="cuda", _extra_files=files)
    card = json.loads(files["nvalchemi.json"])
    cutoff, tables = card["cutoff"], dict(model.named_buffers())
    kinds = [card["species_index"][card["species"].index(symbol)] for symbol in ("Na", "Cl")]
    if dtype == torch.float32:
        model = model.float()
    cells = math.ceil(2 * cutoff / 5.64 + 1e-9)
    system = System(ROCK_SALT, 5.64, cells, 4, cutoff, dtype, [kinds[k] for k in SALT_KINDS])

    def ours(positions=None):
        vectors = system.vectors(positions).requires_grad_()
        data = {"species": system.kind, "edge_index": system.index, "edge_vectors": vectors}
        energies = model(data)["atomic_energies"]
        gradient = torch.autograd.grad(energies.sum(), vectors)[0]
        return (energies.detach(), *system.from_gradient(vectors.detach(), gradient))

    mine, theirs = {"operators": seconds(ours)}, {}
    if toolkit():
        from nvalchemiops.torch.interactions.dispersion import D3Parameters, dftd3

        a1, a2, s8 = arguments.d3_damping
        count = len(tables["r2r4"])
        c6 = torch.zeros(count + 1, count + 1, 5, 5, device="cuda")
        c6[1:, 1:] = tables["c6"].float()
        reference = torch.zeros_like(c6)
        reference[1:, 1:] = tables["reference_cn"].float()[:, None, :, None]
        own = [torch.zeros(count + 1, device="cuda") for _ in range(2)]
        own[0][1:], own[1][1:] = tables["rcov"].float(), tables["r2r4"].float()
        words = {
            "positions": (system.positions / BOHR),
            "numbers": (system.kind + 1).int(),
            "cell": (system.cell / BOHR).unsqueeze(0),
            "neighbor_list": system.list,
            "neighbor_ptr": system.pointer,
            "unit_shifts": system.shifts,
            "d3_params": D3Parameters(own[0], own[1], c6, reference),
            "s5_smoothing_on": cutoff / BOHR - 1.0,
            "s5_smoothing_off": cutoff / BOHR,
        }

        def other():
            return dftd3(**words, a1=a1, a2=a2, s8=s8, compute_virial=True)

        theirs["warp"] = seconds(other)
        forces = other()[1] * (EV_OF_HARTREE / BOHR)
        # counted neighbours end smoothly here and abruptly there
        expect_close(ours()[1], forces, 0.03, "forces of D3")
    name = f"d3 {str(dtype)[6:]}"
    row = {**system.sizes(), "cutoff": cutoff, **compare(name, mine, theirs)}
    return {name: row}


def measure_d3(arguments):
    if not arguments.d3:
        print("d3: left out (no --d3)")
        return {}
    return d3_case(arguments, torch.float64) | d3_case(arguments, torch.float32)


def measure_lammps(arguments):
    lammps, plugin = os.environ.get("NVALCHEMI_KOKKOS_LAMMPS"), os.environ.get("NVALCHEMI_PLUGIN")
    if not (arguments.lj and lammps and plugin):
        print("lammps: left out (needs --lj, NVALCHEMI_KOKKOS_LAMMPS and NVALCHEMI_PLUGIN)")
        return {}
    found, archive = {}, Path(arguments.lj).resolve()
    for cells in (20, 40, 60):
        times = {}
        for name, style in (
            ("lj/cut/kk", "lj/cut/kk 8.5\npair_coeff 1 1 0.0104 3.4"),
            ("nvalchemi/kk", f"nvalchemi/kk selftest no\npair_coeff * * {archive} Ar"),
        ):
            text = (
                f"plugin load {plugin}\nunits metal\nlattice fcc 5.3\n"
                f"region box block 0 {cells} 0 {cells} 0 {cells}\ncreate_box 1 box\n"
                "create_atoms 1 box\nmass 1 39.95\nvelocity all create 60 1 loop geom\n"
                f"pair_style {style}\nneighbor 1.0 bin\nfix 1 all nve\ntimestep 0.002\n"
                "thermo 100\nthermo_modify format float %.12g\nrun 20\nrun 100\n"
            )
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "in.lmp").write_text(text)
                command = [lammps, "-in", "in.lmp", "-log", "none", "-k", "on", "g", "1"]
                run = subprocess.run(
                    [*command, "-sf", "kk"], cwd=folder, capture_output=True, text=True
                )
            if run.returncode != 0:
                raise RuntimeError((run.stdout + run.stderr)[-2000:])
            loops = re.findall(r"Loop time of (\S+) on", run.stdout)
            pair = re.findall(r"^Pair +\| +(\S+)", run.stdout, re.MULTILINE)
            split = re.findall(r"^  (graph|model|accumulate) +\| +\S+ \| +(\S+)", run.stdout, re.M)
            energy = re.findall(r"^ +0 +\S+ +(\S+)", run.stdout, re.MULTILINE)
            times[name] = float(loops[-1]) / 100
            found[f"{cells} {name}"] = {
                "atoms": 4 * cells**3,
                "seconds": times[name],
                "pair": float(pair[-1]) / 100,
                "energy_at_start": float(energy[0]),
                **{part: float(taken) / 100 for part, taken in split[-3:]},
            }
        energies = [found[f"{cells} {name}"]["energy_at_start"] for name in times]
        if not math.isclose(*energies, rel_tol=1e-10):
            raise RuntimeError(f"energies of both styles: got {energies}, expected the same")
        compare(f"lammps, {4 * cells**3} atoms, a step", {"nvalchemi/kk": times["nvalchemi/kk"]},
                {"lj/cut/kk": times["lj/cut/kk"]})  # fmt: skip
        for name in times:
            row = found[f"{cells} {name}"]
            parts = {key: round(1e3 * value, 3) for key, value in row.items() if value < 1}
            print(f"  {name}, in ms: {parts}")
        found[f"{cells} ratio"] = times["nvalchemi/kk"] / times["lj/cut/kk"]
    return found


SECTIONS = {
    "lj": measure_lj,
    "ewald": measure_ewald,
    "d3": measure_d3,
    "lammps": measure_lammps,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sections", nargs="*", help="some of " + ", ".join(SECTIONS))
    parser.add_argument("--output", required=True)
    parser.add_argument("--lj", help="archive of argon")
    parser.add_argument("--d3", help="archive of DFT-D3(BJ), float64")
    parser.add_argument(
        "--d3-damping", nargs=3, type=float, default=(0.4289, 4.4407, 0.7875), help="a1 a2 s8"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # the other package's direct forces
    torch.ops.load_library(os.environ["NVALCHEMI_KERNELS_LIBRARY"])
    output, failed = Path(arguments.output), 0
    numbers = json.loads(output.read_text()) if output.exists() else {}
    for name in arguments.sections or SECTIONS:
        try:
            numbers[name] = SECTIONS[name](arguments)
        except (RuntimeError, TypeError, ValueError, ImportError) as failure:
            print(f"{name} failed: {failure}")
            failed += 1
        output.write_text(json.dumps(numbers, indent=1) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
