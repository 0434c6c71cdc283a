#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run a case through LAMMPS on several ranks and print one JSON line with the deviations.

    python3 unittest/mpi/run_case.py --archive M.pt --case CASE.json -n 2

dE, dEatom, dF and dS are the largest absolute differences of the energy, per-atom energies, forces
and stress (eV, Angstrom), in LAMMPS's frame, against the case's own numbers or against the archive
evaluated alone (`against`); `largest` holds the largest absolute value of each for a relative view.
Ends with status 1 and LAMMPS's message on standard error where the run fails.
"""

import argparse
import json
import sys
from pathlib import Path

import own_environment  # noqa: F401  (starts anew under the package's Python if need be)
from comparison import (
    Settings,
    alone_in_lammps_frame,
    case_in_lammps_frame,
    differences,
    magnitudes,
    run_decomposed,
)
from installation import NotInstalled, find_installation
from simulation import RunFailed
from structure import random_rotation, read_case


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--archive", required=True, help="TorchScript archive")
    parser.add_argument("--card", default="", help="card that replaces the archive's own")
    parser.add_argument("--case", required=True, help="structure and reference (JSON)")
    parser.add_argument("-n", "--ranks", type=int, default=1)
    parser.add_argument("--processors", default="", help='LAMMPS\'s grid, such as "2 1 1"')
    parser.add_argument("--boundary", default="", help='such as "p p f"; default: the case\'s pbc')
    parser.add_argument("--style", default="nvalchemi", help="nvalchemi or nvalchemi/kk")
    parser.add_argument("--pair-arguments", default="", help="further words for pair_style")
    parser.add_argument("--kokkos", default="on", help="arguments of LAMMPS's -k for a /kk style")
    parser.add_argument("--lammps", default=None, help="path of lmp")
    parser.add_argument("--plugin", default=None, help="path of nvalchemi_plugin.so")
    parser.add_argument("--comm", choices=("brick", "tiled"), default="brick")
    parser.add_argument("--balance", default="", help='"rcb" or "shift x 10 1.0"')
    parser.add_argument("--newton", choices=("on", "off"), default="on")
    parser.add_argument("--units", choices=("metal", "real"), default="metal")
    parser.add_argument("--skin", type=float, default=1.0, help="Angstrom")
    parser.add_argument("--repeat", default="1 1 1", help='copies along each vector: "2 1 1"')
    parser.add_argument(
        "--rotate",
        type=int,
        default=None,
        metavar="SEED",
        help="turn the structure by a random rotation first",
    )
    parser.add_argument("--axes", default="a b c", help='cyclic order of lattice vectors: "b c a"')
    parser.add_argument("--against", choices=("case", "alone"), default=None)
    parser.add_argument("--steps", type=int, default=3, help="evaluations to time")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--keep", default=None, metavar="FOLDER", help="leave input and log there")
    return parser.parse_args()


def prepare(arguments):
    """The structure to run, its reference from the case or None, and the settings."""
    structure, reference = read_case(arguments.case)
    boundary = arguments.boundary.split() or ["p" if p else "f" for p in structure.periodic]
    periodic = tuple(kind == "p" for kind in boundary)
    kinds = {kind for kind in boundary if kind != "p"}
    counts = tuple(int(count) for count in arguments.repeat.split())
    order = tuple("abc".index(axis) for axis in arguments.axes.split())
    if len(boundary) != 3 or len(kinds) > 1 or not kinds <= {"f", "s", "m"}:
        raise SystemExit(
            f'--boundary: got "{arguments.boundary}", expected three of p and one kind of f, s, m'
        )
    if order not in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        raise SystemExit(f'--axes: got "{arguments.axes}", expected a cyclic order of "a b c"')
    own = periodic == structure.periodic
    structure = structure.repeated(counts)
    if reference:
        reference = reference.repeated(counts[0] * counts[1] * counts[2])
    if arguments.rotate is not None:
        rotation = random_rotation(arguments.rotate)
        structure = structure.rotated(rotation)
        reference = reference and reference.rotated(rotation)
    structure = structure.reordered(order)
    own = own and tuple(periodic[axis] for axis in order) == periodic
    structure = structure.opened(periodic)
    settings = Settings(
        archive=arguments.archive,
        card=arguments.card,
        ranks=arguments.ranks,
        processors=arguments.processors,
        open_boundary=kinds.pop() if kinds else "f",
        style=arguments.style,
        pair_arguments=arguments.pair_arguments,
        comm=arguments.comm,
        balance=arguments.balance,
        newton=arguments.newton,
        units=arguments.units,
        skin=arguments.skin,
        steps=arguments.steps,
        kokkos=arguments.kokkos,
        timeout=arguments.timeout,
    )
    default = "case" if own and reference and counts == (1, 1, 1) else "alone"
    against = arguments.against or default
    if against == "case" and not (own and reference):
        raise SystemExit(
            "--against case: the case has no numbers for this boundary; use --against alone"
        )
    return structure, reference, settings, against


def report(arguments):
    structure, reference, settings, against = prepare(arguments)
    installation = find_installation(arguments.lammps, arguments.plugin)
    if arguments.keep:
        Path(arguments.keep).mkdir(parents=True, exist_ok=True)
    found = run_decomposed(installation, structure, settings, arguments.keep)
    if against == "case":
        expected = case_in_lammps_frame(structure, reference)
    else:
        expected = alone_in_lammps_frame(installation, structure, settings)
    return {
        **differences(found.reference, expected, structure.volume),
        "against": against,
        "largest": magnitudes(expected, structure.volume),
        "exchanges": found.exchanges,
        "seconds_per_step": found.seconds_per_step,
        "archive": Path(arguments.archive).name,
        "case": Path(arguments.case).name,
        "atoms": len(structure),
        "ranks": settings.ranks,
    }


def main():
    arguments = parse_arguments()
    try:
        print(json.dumps(report(arguments)))
    except (RunFailed, NotInstalled) as failure:
        print(failure, file=sys.stderr)
        raise SystemExit(1) from failure


if __name__ == "__main__":
    main()
