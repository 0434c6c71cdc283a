# SPDX-License-Identifier: GPL-2.0-only
"""Draw force errors against the distance to the nearest face, from a report of validation.

    python3 plot_report.py REPORT.json PICTURE.png

The report is that of `fix nvalchemi/validate ... report REPORT.json` (errors of the run) or of
`nvalchemi-validate --output REPORT.json` (errors of its virtual parts). Errors that grow towards
zero distance come from what crosses the faces; errors everywhere from something else.
"""

import argparse
import json
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

SMALLEST = 1e-17  # shown instead of zero on the logarithmic axis


def read_errors(report):
    """(title, errors and distances of the atoms, tolerance); NaN where no face is in reach."""
    source = report.get("run") or report
    errors = source["error_map"]
    if not errors or errors["force_errors"] is None:
        sys.exit("error: the report lists no errors: nothing was compared, or too many atoms")
    tolerance = [q["tolerance"] for q in source["quantities"] if q["name"] == "forces"][0]
    numbers = [np.array(errors[name], dtype=float) for name in ("force_errors", "face_distances")]
    numbers[1][numbers[1] < 0] = np.nan
    where = f"{source['label']}, step {source['step']}" if "run" in report else "virtual parts"
    verdict = "passed" if source.get("passed", report["ok"]) else "failed"
    return f"{report['model']['name']}: {where}, {verdict}", *numbers, tolerance


def draw(title, errors, distances, tolerance, cutoff, path):
    figure, axis = plt.subplots(figsize=(7, 4.5))
    shown = np.maximum(np.nan_to_num(errors, nan=np.nanmax(errors, initial=SMALLEST)), SMALLEST)
    inside = np.isnan(distances)
    axis.semilogy(distances[~inside], shown[~inside], "o", mfc="none", label="atoms near a face")
    if inside.any():
        beyond = max(cutoff, np.nanmax(distances, initial=0.0))
        axis.semilogy(np.full(inside.sum(), beyond), shown[inside], "x", label="no face in reach")
    axis.axhline(tolerance, color="k", ls="--", lw=1, label="tolerance")
    axis.axvline(cutoff, color="grey", ls=":", lw=1, label="cutoff")
    axis.set_xlabel("distance to the nearest face (A)")
    axis.set_ylabel("length of the force error (eV/A)")
    axis.set_title(title)
    axis.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", metavar="REPORT.json")
    parser.add_argument("picture", metavar="PICTURE.png")
    options = parser.parse_args()
    with open(options.report) as stream:
        report = json.load(stream)
    if report.get("format") != "nvalchemi-trace-report":
        sys.exit(f"error: {options.report} is no report of a validation")
    draw(*read_errors(report), report["model"]["cutoff"], options.picture)


if __name__ == "__main__":
    main()
