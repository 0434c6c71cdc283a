# SPDX-License-Identifier: GPL-2.0-only
"""Draw the total energy of a decomposed and a reference run and compare the two, from LAMMPS logs.

The logs hold columns Step, TotEng, f_check[1] and f_check[3] of fix nvalchemi/validate (energy and
forces against the undecomposed model). Ends with an error where the runs differ by more than their
precision explains.
"""

import argparse
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

# Allowed difference of the total energy (eV): rounding, which the dynamics then amplifies.
BAR = {"float64": 1e-7, "float32": 1e-2}
SMALLEST = 1e-17  # shown instead of zero on the logarithmic axis


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


def draw(decomposed, reference, ranks, path):
    """Above the two energies, below how far apart everything is."""
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 6.5))
    start = reference["TotEng"][0]
    above.plot(
        reference["Step"],
        1e3 * (reference["TotEng"] - start),
        "o",
        mfc="none",
        label="1 rank (reference)",
    )
    above.plot(decomposed["Step"], 1e3 * (decomposed["TotEng"] - start), "-", label=ranks)
    above.set_ylabel(f"total energy - ({start:.6f} eV)  (meV)")
    above.set_title("NaCl, 64 atoms, SevenNet-0, constant energy")
    above.legend()
    difference = np.abs(decomposed["TotEng"] - reference["TotEng"])
    for label, values, style in (
        (f"total energy, {ranks} - 1 rank (eV)", difference, "-"),
        ("energy, decomposed - undecomposed (eV)", decomposed["f_check[1]"], "--"),
        ("largest force, decomposed - undecomposed (eV/A)", decomposed["f_check[3]"], ":"),
    ):
        below.semilogy(decomposed["Step"], np.maximum(values, SMALLEST), style, label=label)
    below.set_xlabel("step (1 fs)")
    below.set_ylabel("absolute difference (0 shown as 1e-17)")
    below.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    return difference.max()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decomposed", required=True, metavar="LOG")
    parser.add_argument("--reference", required=True, metavar="LOG")
    parser.add_argument("--dtype", choices=sorted(BAR), default="float64")
    parser.add_argument("--ranks", type=int, default=2, help="of the decomposed run, for the label")
    parser.add_argument("--output", required=True, metavar="PNG")
    options = parser.parse_args()
    decomposed, reference = read_thermo(options.decomposed), read_thermo(options.reference)
    if not np.array_equal(decomposed["Step"], reference["Step"]):
        sys.exit("error: the two logs do not cover the same steps")
    largest = draw(decomposed, reference, f"{options.ranks} ranks", options.output)
    drift = np.ptp(decomposed["TotEng"])
    print(
        f"total energy: {options.ranks} ranks against 1, largest difference {largest:.2e} eV; "
        f"varies by {drift:.2e} eV during the run"
    )
    print(
        "decomposed against undecomposed model, largest: energy "
        f"{decomposed['f_check[1]'].max():.2e} eV, force {decomposed['f_check[3]'].max():.2e} eV/A"
    )
    if not largest <= BAR[options.dtype]:
        sys.exit(
            f"error: the runs differ by {largest:.2e} eV, expected at most "
            f"{BAR[options.dtype]:g} eV in {options.dtype}"
        )


if __name__ == "__main__":
    main()
