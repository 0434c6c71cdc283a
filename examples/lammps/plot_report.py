# SPDX-License-Identifier: GPL-2.0-only
"""Draw a report of validation: forces against forces, and errors against the distance to a face.

    nvalchemi-python plot_report.py REPORT.json PICTURE.png

The report is that of `fix nvalchemi/validate ... report REPORT.json` (errors of the run) or of
`nvalchemi-validate --output REPORT.json` (errors of its virtual parts). Left: each component of
the decomposed forces against that of the undecomposed model, for the atoms that the report lists.
Where atoms were sampled these are the ones whose forces were evaluated alone.
Right: errors that grow towards zero distance come from what crosses the faces; errors everywhere
from something else. On one rank, which has no faces, it stays empty.
"""

import argparse
import json
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

ONE_RANK = "one rank: no atom is near a face to another"
SMALLEST = 1e-17  # shown instead of zero on the logarithmic axis


def why_none(source):
    """Why no forces of single atoms were compared."""
    if source.get("failure") or "sampled" not in source:
        return "nothing was compared"
    why = source["sampled"]["forces"]["not_compared"] or "none had room for its energy"
    return (
        f"no forces of sampled atoms were compared one by one ({why}); "
        "member run.sampled says what was"
    )


def read_errors(report):
    """(title, forces of the listed atoms, errors and distances of all, tolerance).

    Forces are (reference, decomposed), each (n, 3); a distance is NaN where no face is in reach.
    Where the report is of too many atoms to list all errors, those of the listed forces stand in.
    """
    source = report.get("run") or report
    errors = source["error_map"]
    if not errors:
        sys.exit(f"error: the report lists no errors: {why_none(source)}")
    tolerance = [q["tolerance"] for q in source["quantities"] if q["name"] == "forces"][0]
    listed = errors["forces"]
    forces = [
        np.array(listed[name], dtype=float).reshape(-1, 3) for name in ("reference", "decomposed")
    ]
    if errors["force_errors"] is None:
        numbers = [np.linalg.norm(forces[1] - forces[0], axis=1)]
        numbers.append(np.array(listed["face_distances"], dtype=float))
    else:
        numbers = [
            np.array(errors[name], dtype=float) for name in ("force_errors", "face_distances")
        ]
    passed = source.get("passed", report["ok"])
    verdict = {True: "passed", False: "failed", None: "neither proved right nor wrong"}[passed]
    where = f"{source['label']}, step {source['step']}" if "run" in report else "virtual parts"
    if "run" not in report:
        number = report["evidence_of_attempt"]
        attempt = report["attempts"][number - 1]
        verdict = attempt["verdict"]
        if len(report["attempts"]) > 1:
            where += f", attempt {number} ({'mended' if attempt['rule'] else 'the given spec'})"
    if "sampled" in source:
        where += f", {len(errors['force_errors'] or listed['atoms'])} sampled atoms"
    return f"{report['model']['name']}: {where}, {verdict}", forces, *numbers, tolerance


def draw_parity(axis, reference, decomposed):
    for k, name in enumerate("xyz"):
        axis.plot(reference[:, k], decomposed[:, k], ".", ms=4, label=name)
    ends = [np.nanmin(reference, initial=0.0), np.nanmax(reference, initial=0.0)]
    axis.plot(ends, ends, "k-", lw=0.8)
    axis.set_xlabel("force of the undecomposed model (eV/A)")
    axis.set_ylabel("force of the decomposed run (eV/A)")
    axis.legend(fontsize="small")


def read_report(path):
    try:
        with open(path) as stream:
            report = json.load(stream)
    except OSError as error:
        sys.exit(f"error: {path}: cannot be read ({error.strerror}); check the path")
    except ValueError as error:
        sys.exit(f"error: {path} is no report of a validation: it is no JSON ({error})")
    if not isinstance(report, dict) or report.get("format") != "nvalchemi-trace-report":
        sys.exit(f"error: {path} is no report of a validation")
    return report


def draw_nothing(axis, note):
    axis.set_axis_off()
    axis.text(0.5, 0.5, note, ha="center", va="center", transform=axis.transAxes)


def draw_errors(axis, errors, distances, tolerance, cutoff):
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
    axis.legend(fontsize="small")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", metavar="REPORT.json")
    parser.add_argument("picture", metavar="PICTURE.png")
    options = parser.parse_args()
    report = read_report(options.report)
    title, forces, errors, distances, tolerance = read_errors(report)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    draw_parity(left, *forces)
    if report.get("run", report)["ranks"] == 1:
        draw_nothing(right, ONE_RANK)
    else:
        draw_errors(right, errors, distances, tolerance, report["model"]["cutoff"])
    figure.suptitle(title)
    figure.tight_layout()
    try:
        figure.savefig(options.picture, dpi=150)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {options.picture}: cannot be written ({error})")
    print(f"{options.picture}: {title}")


if __name__ == "__main__":
    main()
