#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export the DFT-D3 dispersion energy of a density functional, two-body terms, as an archive.

Needs the PyPI package `torch-dftd`, whose tables of C6 coefficients and damping parameters go into
the archive. Neither a GPU nor a compiler is used. Run the archive beside any other potential with
pair_style hybrid/overlay, or in one archive with nvalchemi-compose.
"""

import inspect
import os
import re

try:
    import numpy as np
    import torch
    import torch_dftd.dftd3_xc_params
    from ase.data import atomic_numbers, chemical_symbols
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from dispersion_d3 import DispersionD3, FusedDispersionD3, RationalDamping, ZeroDamping
    from evaluate import add_reference, evaluate, reference_structure
    from operators import add_fused_option, operator_adapter, spec_from_preset
    from torch_dftd.functions.dftd3 import d3_autoang, d3_autoev, edisp
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs the PyPI package torch-dftd==0.5.3 in the Python "
        "environment that runs it; 'nvalchemi-export d3 --make-environment' makes one"
    ) from missing

DAMPINGS = ("bj", "bjm", "zero", "zerom")
SPEC = "SPEC_DFTD3_HALO"


def package_tables():
    """The package's tables, in atomic units, by atomic number."""
    folder = os.path.dirname(torch_dftd.dftd3_xc_params.__file__)
    with np.load(os.path.join(folder, "nn", "params", "dftd3_params.npz")) as stored:
        return {name: torch.tensor(stored[name], dtype=torch.float64) for name in stored}


def functionals(damping):
    """Names of the functionals that the package has parameters for. It holds them as branches of a
    function, not as a table."""
    source = inspect.getsource(torch_dftd.dftd3_xc_params)
    names = set(re.findall(r'xc == "([^"]+)"', source))
    for group in re.findall(r"xc in \[([^\]]*)\]", source):
        names |= set(re.findall(r'"([^"]+)"', group))
    return sorted(name for name in names if package_parameters(damping, name) is not None)


def package_parameters(damping, functional, tz=False):
    """The package's damping parameters, None where it has none."""
    try:
        return torch_dftd.dftd3_xc_params.get_dftd3_default_params(damping, functional, tz)
    except ValueError:
        return None


def damping_parameters(damping, functional, tz):
    if tz and damping != "zero":
        raise ValueError(f"--tz: got --damping {damping}, expected zero, which alone has them")
    found = package_parameters(damping, functional, tz)
    if found is None:
        others = [d for d in DAMPINGS if package_parameters(d, functional) is not None]
        hint = f"; it has them for --damping {' or '.join(others)}" if others else ""
        raise ValueError(
            f"--functional: got '{functional}', for which torch-dftd has no parameters of "
            f"--damping {damping}{hint}. Expected one of {', '.join(functionals(damping))}"
        )
    return found


def chosen_elements(symbols, tables):
    """Atomic numbers of the symbols, by default of all elements that the tables hold."""
    known = tables["c6ab"].shape[0] - 1
    if not symbols:
        return list(range(1, known + 1))
    for symbol in symbols:
        if not 0 < atomic_numbers.get(symbol, 0) <= known:
            raise ValueError(
                f"--elements: got '{symbol}', expected symbols from H to {chemical_symbols[known]}"
            )
    if len(set(symbols)) < len(symbols):
        raise ValueError(f"--elements: got {' '.join(symbols)}, expected each symbol once")
    return sorted(atomic_numbers[symbol] for symbol in symbols)


def element_tables(tables, elements):
    """The tables of DispersionD3 for these elements.

    The package stores the coordination numbers of reference systems for each pair of elements
    again; here each element has its own."""
    pair = tables["c6ab"][elements][:, elements]  # (species, species, 5, 5, [C6, CN of both])
    c6, own_cn = pair[..., 0], pair[..., 1]
    diagonal = torch.arange(len(elements))
    own = own_cn[diagonal, diagonal]  # (species, 5, 5)
    has_reference = c6[diagonal, diagonal].amax(dim=2) > 0
    reference_cn = torch.where(has_reference, own.amax(dim=2), 0.0)
    exists = has_reference[:, None, :, None] & has_reference[None, :, None, :]
    if not torch.equal(c6 > 0, exists) or not torch.equal(
        own_cn[exists], reference_cn[:, None, :, None].expand_as(own_cn)[exists]
    ):
        raise RuntimeError(
            "the reference systems of this torch-dftd differ from pair to pair of elements, which "
            "version 0.5.3 does not do; install torch-dftd==0.5.3"
        )
    return {
        "c6": c6.contiguous(),
        "reference_cn": reference_cn,
        "has_reference": has_reference,
        "rcov": tables["rcov"][elements],
        "r2r4": tables["r2r4"][elements],
    }


def damping_module(damping, parameters, tables, elements):
    """The damping functions of `parameters`, under the names that the package gives them."""
    first, second = parameters["rs6"], parameters["rs18"]
    if damping in ("bj", "bjm"):
        return RationalDamping(tables["r2r4"][elements], first, second)
    r0 = tables["r0ab"][elements][:, elements].contiguous()
    scale8, shift = (second, 0.0) if damping == "zero" else (1.0, second)
    return ZeroDamping(r0, first, scale8, shift, parameters["alp"])


def dispersion(tables, elements, damping, parameters, cutoff, cn_cutoff, fused=True):
    """DispersionD3 in double precision."""
    return (FusedDispersionD3 if fused else DispersionD3)(
        element_tables(tables, elements),
        damping_module(damping, parameters, tables, elements),
        float(parameters["s6"]),
        float(parameters["s18"]),
        cutoff,
        cn_cutoff,
        d3_autoang,
        d3_autoev,
    ).eval()


class PackageDispersion(torch.nn.Module):
    """The package's own function behind the same card. It returns one energy for the system, which
    stands in the first row here."""

    def __init__(self, tables, elements, damping, parameters, cutoff, cn_cutoff):
        super().__init__()
        self.tables, self.elements = tables, torch.tensor(elements)
        self.damping, self.parameters = damping, parameters
        self.cutoff, self.cn_cutoff = cutoff, cn_cutoff

    def forward(self, data):
        r = torch.linalg.vector_norm(data["edge_vectors"], dim=-1) / d3_autoang
        energy = edisp(
            self.elements[data["species"]],
            r,
            data["edge_index"],
            **self.tables,
            params=self.parameters,
            cutoff=self.cutoff / d3_autoang,
            cnthr=self.cn_cutoff / d3_autoang,
            damping=self.damping,
            cutoff_smoothing="poly",
            bidirectional=True,
        )
        energies = torch.nn.functional.pad(d3_autoev * energy, (0, len(data["species"]) - 1))
        return {"atomic_energies": energies, "coordination_numbers": torch.zeros_like(energies)}


def dispersion_card(name, elements, cutoff, dtype_name, fused=True):
    """The contract of the exported model."""
    operators = FusedDispersionD3.operators if fused else ()
    per_row = {"kind": "per_node", "shape": "(rows)"}
    return make_card(
        name=name,
        family="dftd3",
        cutoff=cutoff,
        dtype=dtype_name,
        species=[chemical_symbols[z] for z in elements],
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={
            "atomic_energies": {"role": "atomic_energies", **per_row},
            "coordination_numbers": {"role": "other", **per_row},
        },
        forces="edge_vectors",
        receiver_row=0,
        expected_exchanges=1,
        spec=spec_from_preset(SPEC, [operator_adapter(operator) for operator in operators]),
    )


def check_cutoffs(cutoff, cn_cutoff):
    if not d3_autoang < cn_cutoff <= cutoff:
        raise ValueError(
            f"--cn-cutoff: got {cn_cutoff:g}, expected more than {d3_autoang:.2f} Angstrom (the "
            f"width of the smoothing) and at most the cutoff, {cutoff:g}"
        )


def read_options(arguments):
    options = parser(__doc__, "d3")
    options.add_argument("--functional", default="pbe", help="name, as torch-dftd spells it")
    options.add_argument("--damping", choices=DAMPINGS, default="bj", help="form of the damping")
    options.add_argument(
        "--tz", action="store_true", help="zero damping: parameters for triple-zeta basis sets"
    )
    options.add_argument("--cutoff", type=float, default=12.0, help="of pairs, in Angstrom")
    options.add_argument(
        "--cn-cutoff", type=float, default=9.0, help="of coordination numbers, in Angstrom"
    )
    options.add_argument(
        "--elements", nargs="+", metavar="SYMBOL", help="elements to keep; default: all 94"
    )
    add_fused_option(options, "sums over neighbours", default=True)
    options.add_argument(
        "--list", action="store_true", help="print the functionals of each damping, and end"
    )
    return options.parse_args(arguments)


def main(arguments=None):
    options = read_options(arguments)
    if options.list:
        for damping in DAMPINGS:
            print(f"{damping}: {' '.join(functionals(damping))}")
        return
    check_cutoffs(options.cutoff, options.cn_cutoff)
    parameters = damping_parameters(options.damping, options.functional, options.tz)
    tables = package_tables()
    elements = chosen_elements(options.elements, tables)
    settings = (elements, options.damping, parameters, options.cutoff, options.cn_cutoff)
    name = re.sub(r"\W", "_", f"d3_{options.damping}_{options.functional}_{options.dtype}")
    card = dispersion_card(name, elements, options.cutoff, options.dtype, options.fused)
    atoms = reference_structure(card["species"])
    dtype = DTYPES[options.dtype]
    in_dtype = {key: table.to(dtype) for key, table in tables.items()}
    numbers = evaluate(PackageDispersion(in_dtype, *settings), card, atoms)
    del numbers["energies"]  # the package has one energy for the system
    add_reference(card, atoms, numbers)
    model = torch.jit.script(dispersion(tables, *settings, options.fused).to(dtype))
    write_and_check(model, card, options.output)


if __name__ == "__main__":
    run(main)
