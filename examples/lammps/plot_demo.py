# SPDX-License-Identifier: GPL-2.0-only
"""Draw a run on several ranks beside the same run on one, and compare their forces and energies.

From LAMMPS logs with the columns Step, Temp, TotEng, f_check[1] and f_check[3] of fix
nvalchemi/validate (energy and forces against the undecomposed model), and from dumps with id, fx,
fy and fz in all their digits.

Both runs start from the same positions, so that their forces differ at step 0 by rounding alone.
From then on each run moves by its own forces, and dynamics amplify what differs, slowly in a
solid; therefore frames after step 100 are drawn but not judged. Ends with an error where forces up
to there differ by more than the tolerance, or energies by more than their bar.
"""

import argparse
import sys
from dataclasses import dataclass

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

# Allowed difference of forces, as a part of the largest force component on one rank.
FORCE_TOLERANCE = {"float64": 1e-10, "float32": 1e-4}
# Allowed difference of the total energy (eV): rounding, which the dynamics then amplifies.
ENERGY_BAR = {"float64": 1e-7, "float32": 1e-2}
LAST_JUDGED = 100  # steps
FRAMES_DRAWN = 6


@dataclass
class Frame:
    """Forces of both runs at one step, (n, 3) in eV/A, and how far apart they may be."""

    step: int
    reference: np.ndarray
    decomposed: np.ndarray
    tolerance: float

    @property
    def difference(self):
        return np.abs(self.decomposed - self.reference)

    @property
    def largest(self):
        return self.difference.max()

    @property
    def judged(self):
        return self.step <= LAST_JUDGED


def read_thermo(path):
    """Columns of the last run in a log as {name: array}."""
    names, rows = [], []
    with open(path) as log:
        for line in log:
            words = line.split()
            if words[:1] == ["Step"]:
                names, rows = words, []
            elif len(words) == len(names) > 0 and words[0].isdigit():
                rows.append([float(word) for word in words])
    if not rows:
        sys.exit(f"error: {path} has no thermo output: did LAMMPS stop before its first step?")
    return dict(zip(names, np.array(rows).T, strict=True))


def read_forces(path):
    """{step: forces (n, 3) in the order of ids} of a dump with columns id, fx, fy and fz."""
    with open(path) as stream:
        lines = stream.read().splitlines()
    frames, at = {}, 0
    while at + 9 <= len(lines):
        step, count = int(lines[at + 1]), int(lines[at + 3])
        names = lines[at + 8].split()[2:]
        if not {"id", "fx", "fy", "fz"} <= set(names):
            sys.exit(f"error: {path}: got columns {names}, expected id, fx, fy and fz among them")
        rows = [line.split() for line in lines[at + 9 : at + 9 + count]]
        if len(rows) < count:
            sys.exit(f"error: {path} ends within step {step}: LAMMPS did not finish")
        table = np.array(rows, dtype=float).reshape(count, len(names))
        table = table[np.argsort(table[:, names.index("id")])]
        frames[step] = table[:, [names.index(name) for name in ("fx", "fy", "fz")]]
        if not np.isfinite(frames[step]).all():
            sys.exit(f"error: {path}: a force at step {step} is no finite number")
        at += 9 + count
    if not frames:
        sys.exit(f"error: {path} holds no frame: did LAMMPS stop before its first step?")
    return frames


def compare_forces(decomposed, reference, dtype):
    """The frames of both dumps, side by side."""
    if {s: len(f) for s, f in decomposed.items()} != {s: len(f) for s, f in reference.items()}:
        sys.exit("error: the two dumps do not hold the same steps and atoms")
    return [
        Frame(step, forces, decomposed[step], FORCE_TOLERANCE[dtype] * np.abs(forces).max())
        for step, forces in reference.items()
    ]


def draw_run(axis, thermo, atoms):
    """Total energy, from its first value on, and temperature."""
    energy, temperature = "tab:blue", "tab:red"
    start = thermo["TotEng"][0]
    axis.plot(thermo["Step"], 1e3 * (thermo["TotEng"] - start) / atoms, color=energy)
    varies = f"total energy varies by {1e3 * np.ptp(thermo['TotEng']) / atoms:.1g} meV/atom"
    axis.text(0.02, 0.06, varies, color=energy, transform=axis.transAxes)
    axis.set_xlabel("step (1 fs)")
    axis.set_ylabel("total energy, change\n(meV/atom)", color=energy)
    axis.tick_params(axis="y", colors=energy)
    # Conserved to a small part of what goes to and fro between potential and kinetic energy.
    exchanged = 1e3 * np.ptp(thermo["PotEng"]) / atoms
    axis.set_ylim(-max(exchanged, 1e-6), max(exchanged, 1e-6))
    beside = axis.twinx()
    beside.plot(thermo["Step"], thermo["Temp"], color=temperature, ls="--")
    beside.set_ylabel("temperature (K)", color=temperature)
    beside.tick_params(axis="y", colors=temperature)
    axis.margins(x=0)


def drawn_frames(frames):
    """(frame, colour, label) of a few frames, the last one first: earlier ones lie on it."""
    chosen = np.unique(np.linspace(0, len(frames) - 1, FRAMES_DRAWN).astype(int))
    colors = plt.cm.viridis(np.linspace(0.0, 0.9, len(chosen)))
    for k in reversed(range(len(chosen))):
        frame = frames[chosen[k]]
        note = "" if frame.judged else " (not judged)"
        yield frame, colors[k], f"step {frame.step}{note}"


def draw_parity(axis, frames, ranks):
    for frame, color, _ in drawn_frames(frames):
        axis.plot(frame.reference.ravel(), frame.decomposed.ravel(), ".", ms=4, color=color)
    axis.axline((0, 0), slope=1, color="k", lw=0.8, zorder=0)
    axis.set_aspect("equal", adjustable="datalim")
    axis.locator_params(nbins=5)
    axis.set_xlabel("force component, 1 rank (eV/Å)")
    axis.set_ylabel(f"force component, {ranks} (eV/Å)")


def draw_differences(axis, frames, ranks):
    """How far the points of the parity plot are from its line, but for those that lie on it."""
    for frame, color, label in drawn_frames(frames):
        unequal = frame.difference > 0
        x, y = frame.reference[unequal], frame.difference[unequal]
        axis.semilogy(x, y, ".", ms=4, color=color, label=label)
    tolerance = min(frame.tolerance for frame in frames)
    axis.axhline(tolerance, color="tab:red", ls="--", label=f"tolerance,\n{tolerance:.0e} eV/Å")
    unequal = np.concatenate([f.difference[f.difference > 0] for f in frames] + [[tolerance]])
    if len(unequal) == 1:
        axis.text(0.5, 0.4, "equal in all bits", ha="center", transform=axis.transAxes)
    axis.set_ylim(min(np.quantile(unequal, 0.005), 1e-2 * tolerance), 30 * tolerance)
    axis.locator_params(axis="x", nbins=5)
    axis.set_xlabel("force component, 1 rank (eV/Å)")
    axis.set_ylabel(f"|{ranks} $-$ 1 rank| (eV/Å)")
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.02, 1.0))


def draw(thermo, frames, ranks, dtype, path):
    """Above the decomposed run, below its forces against those on one rank."""
    atoms = len(frames[0].reference)
    figure = plt.figure(figsize=(9.5, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.25))
    above = figure.add_subplot(grid[0, :])
    draw_run(above, thermo, atoms)
    above.set_title(f"NaCl, {atoms} atoms, SevenNet-0 in {dtype}, constant energy, {ranks}")
    parity, differences = (figure.add_subplot(grid[1, k]) for k in range(2))
    draw_parity(parity, frames, ranks)
    draw_differences(differences, frames, ranks)
    parity.set_title(f"forces, {ranks} against 1")
    differences.set_title("distance from the line")
    figure.savefig(path, dpi=150)


def judge_forces(frames):
    """Print the largest difference of each judged frame; an error message, or None."""
    problem = None
    for frame in frames:
        note = f"tolerance {frame.tolerance:.1e}" if frame.judged else "later than what is judged"
        print(f"forces at step {frame.step}: largest difference {frame.largest:.1e} eV/A, {note}")
        if frame.judged and not frame.largest <= frame.tolerance and problem is None:
            problem = (
                f"error: forces at step {frame.step} differ by {frame.largest:.1e} eV/A, "
                f"expected at most {frame.tolerance:.1e} eV/A"
            )
    return problem


def judge_energy(decomposed, reference, ranks, dtype):
    """Print what became of the energies; an error message, or None."""
    judged = reference["Step"] <= LAST_JUDGED
    largest = np.abs(decomposed["TotEng"] - reference["TotEng"])[judged].max()
    print(
        f"total energy: {ranks} against 1, largest difference {largest:.2e} eV; "
        f"varies by {np.ptp(decomposed['TotEng']):.2e} eV during the run"
    )
    print(
        "decomposed against undecomposed model, largest: energy "
        f"{decomposed['f_check[1]'].max():.2e} eV, force {decomposed['f_check[3]'].max():.2e} eV/A"
    )
    if largest <= ENERGY_BAR[dtype]:
        return None
    return (
        f"error: the runs differ by {largest:.2e} eV, expected at most "
        f"{ENERGY_BAR[dtype]:g} eV in {dtype}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for run in ("decomposed", "reference"):
        parser.add_argument(f"--{run}", required=True, metavar="LOG")
        parser.add_argument(f"--{run}-forces", required=True, metavar="DUMP")
    parser.add_argument("--dtype", choices=sorted(ENERGY_BAR), default="float64")
    parser.add_argument("--ranks", type=int, default=2, help="of the decomposed run, for the label")
    parser.add_argument("--output", required=True, metavar="PNG")
    options = parser.parse_args()
    decomposed, reference = read_thermo(options.decomposed), read_thermo(options.reference)
    if not np.array_equal(decomposed["Step"], reference["Step"]):
        sys.exit("error: the two logs do not cover the same steps")
    frames = compare_forces(
        read_forces(options.decomposed_forces), read_forces(options.reference_forces), options.dtype
    )
    ranks = f"{options.ranks} rank{'s' if options.ranks > 1 else ''}"
    draw(decomposed, frames, ranks, options.dtype, options.output)
    problems = [judge_energy(decomposed, reference, ranks, options.dtype), judge_forces(frames)]
    if any(problems):
        sys.exit("\n".join(problem for problem in problems if problem))


if __name__ == "__main__":
    main()
