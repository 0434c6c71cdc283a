# SPDX-License-Identifier: GPL-2.0-only
"""Several ranks in one process, for tests of models that use the verbs. Host memory only."""

import ctypes
from typing import NamedTuple

import torch

from ._library import loaded_library


class Part(NamedTuple):
    """What one rank has of a graph of atoms."""

    rows: torch.Tensor  # (total,) atom of each row: own atoms, then halo rows grouped by owner
    n_owned: int
    sources: list  # (owner rank, row on that rank) of each halo row
    edges: torch.Tensor  # (n_edges,) the edges of this rank: those whose receiver it owns
    receiver: torch.Tensor  # (n_edges,) rows
    sender: torch.Tensor  # (n_edges,) rows


def decompose(owner, receiver, sender, n_ranks):
    """Divide atoms and edges among ranks as LAMMPS does, one `Part` for each rank.

    `owner` (n_atoms,): the rank of each atom; a rank may own none. `receiver` and `sender`
    (n_edges,): atoms.
    """
    row_at_owner = torch.empty_like(owner)
    owned_by = [torch.nonzero(owner == rank).flatten() for rank in range(n_ranks)]
    for owned in owned_by:
        row_at_owner[owned] = torch.arange(len(owned))
    parts = []
    for rank, owned in enumerate(owned_by):
        edges = torch.nonzero(owner[receiver] == rank).flatten()
        halo = sender[edges].unique()
        halo = halo[owner[halo] != rank]
        halo = halo[owner[halo].argsort(stable=True)]
        sources = list(zip(owner[halo].tolist(), row_at_owner[halo].tolist()))
        rows = torch.cat([owned, halo])
        row_here = torch.full_like(owner, -1)
        row_here[rows] = torch.arange(len(rows))
        here = row_here[receiver[edges]], row_here[sender[edges]]
        parts.append(Part(rows, len(owned), sources, edges, *here))
    return parts


def run_in_parts(parts, body):
    """Call `body(rank)` for every rank at once, each on a thread of its own inside a
    decomposition, and return the list of results.

    `parts` has an object with `n_owned` and `sources` for each rank, such as `Part`. Raises the
    exception of the lowest rank that failed by itself. Ranks that issue different exchanges, or a
    rank that ends while others wait for it, are a RuntimeError and no hang.
    """
    results, errors = [None] * len(parts), [None] * len(parts)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    def run_rank(rank):
        try:
            results[rank] = body(rank)
        except BaseException as error:  # an exception cannot pass through the library
            errors[rank] = error
            return 1
        return 0

    def array(values):
        return (ctypes.c_int64 * len(values))(*values)

    function = loaded_library().nvalchemi_run_in_parts
    function.restype = ctypes.c_char_p
    failed_rank = ctypes.c_int()
    text = function(
        len(parts),
        array([part.n_owned for part in parts]),
        array([len(part.sources) for part in parts]),
        array([number for part in parts for source in part.sources for number in source]),
        run_rank,
        ctypes.byref(failed_rank),
    )
    if failed_rank.value >= 0:
        raise errors[failed_rank.value]
    if text is not None:
        raise ValueError(f"nvalchemi_lmp.run_in_parts: {text.decode()}")
    return results
