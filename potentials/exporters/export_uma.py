#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Say why there is no exporter for UMA, and what there is instead.

The weights are given out by their authors, after one has agreed to their licence, by a service
that needs an account; and the code that they belong to, fairchem, chooses its operations by Python
objects that TorchScript cannot hold. Nothing here can be tested without the one or written without
the other.
"""

import importlib.util
import sys

TEXT = """error: UMA: there is no exporter.
  weights: {weights}
  code:    {code}
What runs instead: examples/lammps/escn, a network of the same structure with random weights and the
adapters of UMA's spec (SPEC_UMA_REFRESH_HALO). doc/escn.rst says what a port would have to do."""


def main(arguments):
    weights = (
        f"{arguments[0]} is not read: its layout is not known here"
        if arguments
        else "not part of this package; ask their authors for them"
    )
    found = importlib.util.find_spec("fairchem") is not None
    code = (
        f"fairchem is {'' if found else 'not '}installed; its modules cannot be compiled to "
        "TorchScript as they are"
    )
    return TEXT.format(weights=weights, code=code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
