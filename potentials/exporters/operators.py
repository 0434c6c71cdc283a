# SPDX-License-Identifier: GPL-2.0-only
"""The package's own operators, `torch.ops.nvalchemi_lmp.*`, and specs that declare them."""

import argparse
import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALLED_PRESETS = Path(__file__).resolve().parents[1] / "presets"
PRESETS = INSTALLED_PRESETS if INSTALLED_PRESETS.is_dir() else REPOSITORY / "spec" / "presets"


def load_operators():
    """Register the operators of libnvalchemi_kernels.so with torch."""
    try:
        import nvalchemi_lmp
    except ModuleNotFoundError:
        sys.path.append(str(REPOSITORY / "kernels" / "python"))
        import nvalchemi_lmp
    return nvalchemi_lmp.loaded_file()


def add_fused_option(options, what, default):
    """--fused and --no-fused of an exporter's command line."""
    options.add_argument(
        "--fused",
        action=argparse.BooleanOptionalAction,
        default=default,
        help=f"{what} by the package's own operators, faster and in less memory",
    )


def operator_adapter(name, slice_owned=(), all_reduce_sum=()):
    """The adapter of an operator: which arguments lose their halo rows, and which outputs are sums
    over all ranks. With neither, the operator gives owned rows their whole result."""

    def transforms(positions, kind):
        return {str(position): {"type": kind} for position in positions}

    return {
        "op": f"nvalchemi_lmp::{name}",
        "arg_transforms": transforms(slice_owned, "slice_owned"),
        "output_transforms": transforms(all_reduce_sum, "all_reduce_sum"),
    }


def spec_from_preset(preset, adapters, **changes):
    """The distribution spec `preset` with these adapters of operators."""
    spec = json.loads((PRESETS / f"{preset}.json").read_text())
    spec["core"]["custom_ops"] = list(adapters)
    return {**spec, **changes}
