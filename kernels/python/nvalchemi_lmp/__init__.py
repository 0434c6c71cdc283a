# SPDX-License-Identifier: GPL-2.0-only
"""What a potential says about its values so that it runs in parts: the intent verbs.

Each function works in plain Python, where one process holds everything and nothing moves, and
inside a function or module that `torch.jit.script` compiles, where it becomes the operator
`torch.ops.nvalchemi_lmp.<name>`. Under LAMMPS the same archive then communicates. Verbs that are
*collective* must be called by all ranks, in the same order and with the same row shape and dtype.

Rows of atoms are `(rows, *)`: the rank's own atoms first, then halo rows (copies of atoms of other
ranks), then any rows that belong to no atom, which never move. Values have float32 or float64
elements on a CPU or a GPU, and no unit: verbs do not change units.
"""

from typing import NamedTuple

import torch

from . import scope as Scope
from ._library import load, loaded_file
from .in_parts import Part, decompose, run_in_parts
from .scope import LOCAL, OWNED

__version__ = "0.1.0"
__all__ = (
    "LOCAL",
    "OWNED",
    "DDContext",
    "Part",
    "Scope",
    "autograd_target",
    "current_dd_context",
    "decompose",
    "loaded_file",
    "refresh_neighbors",
    "run_in_parts",
    "scatter_to_owners",
    "system_sum",
    "to_local",
)

load(__version__)


class DDContext(NamedTuple):
    """How this rank takes part. Without a decomposition: False, 0, 1, -1, -1."""

    is_distributed: bool
    rank: int
    world_size: int
    n_owned: int  # rows of this rank's own atoms
    n_padded: int  # the same and halo rows


def to_local(x: torch.Tensor) -> torch.Tensor:
    """The tensor `x` of this rank, any shape: `x` itself, also without a decomposition.

    Not collective.
    """
    return torch.ops.nvalchemi_lmp.to_local(x)


def refresh_neighbors(x: torch.Tensor) -> torch.Tensor:
    """Halo rows := their owners' rows. Call it on features before neighbours' rows are read.

    `x` is (owned, *), (total, *) or (total + any, *), the result (total, *) or (total + any, *);
    integers are moved too. Collective. Gradient: halo rows' gradients go home and are added.
    Without a decomposition: a copy of `x`.
    """
    return torch.ops.nvalchemi_lmp.refresh_neighbors(x)


def scatter_to_owners(x: torch.Tensor) -> torch.Tensor:
    """Every copy of a row := the sum over all copies of that row.

    For a sum of edges into their *senders*, which lie on several ranks: apply it once to the sum
    into zeros, before anything that is not linear. `x` and the result are (total, *) or
    (total + any, *). Collective. Gradient: the same operation. Without a decomposition: a copy.
    """
    return torch.ops.nvalchemi_lmp.scatter_to_owners(x)


def system_sum(
    values: torch.Tensor, index: torch.Tensor, n_systems: int, scope: str = "owned"
) -> torch.Tensor:
    """Sum of atoms' values for each system: (n_systems, *), each atom counted once.

    `values` is (owned, *), (total, *) or (total + any, *); `index`, as many int32 or int64, names
    the system of each row. The sum is made in float64 and has the dtype of `values`. Scope OWNED:
    over all ranks, collective, the same result on every rank; gradient: the ranks' gradients are
    added. Scope LOCAL: over this rank's own atoms, not collective. Without a decomposition: over
    all rows.
    """
    return torch.ops.nvalchemi_lmp.system_sum(values, index, n_systems, scope)


def autograd_target(x: torch.Tensor) -> torch.Tensor:
    """The tensor to differentiate with respect to, any shape: `x` itself. Not collective."""
    return torch.ops.nvalchemi_lmp.autograd_target(x)


def current_dd_context() -> DDContext:
    """Rank and row counts. Not collective, never folded into a frozen model; see `DDContext`."""
    is_distributed, rank, world_size, n_owned, n_padded = (
        torch.ops.nvalchemi_lmp.current_dd_context()
    )
    return DDContext(is_distributed, rank, world_size, n_owned, n_padded)
