#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export a Lennard-Jones, Buckingham or Morse potential as an archive.

Parameters are those of LAMMPS's pair styles lj/cut, buck and morse, in eV and Angstrom:

  lj     --pair El1 El2 epsilon sigma [cutoff]
  buck   --pair El1 El2 A rho C [cutoff]
  morse  --pair El1 El2 D alpha r0 [cutoff]
"""

try:
    import torch
    from card import DTYPES, make_card
    from command_line import parser, run, write_and_check
    from evaluate import add_reference, evaluate, rattled_rocksalt
    from operators import operator_adapter, spec_from_preset
    from pair_potentials import STYLES
except ImportError as missing:
    raise SystemExit(
        f"error: {missing}; this exporter needs torch and numpy in the Python "
        "environment that runs it; 'nvalchemi-export pair --make-environment' makes one"
    ) from missing


def mixed_length(rule, first, second):
    if rule == "geometric":
        return (first * second) ** 0.5
    if rule == "arithmetic":
        return (first + second) / 2
    return ((first**6 + second**6) / 2) ** (1 / 6)


def mixed(rule, first, second):
    """epsilon, sigma and cutoff of unlike species, by the rules of LAMMPS's pair_modify mix: they
    apply to the cutoff as to sigma."""
    (e1, s1, c1), (e2, s2, c2) = first, second
    epsilon = (e1 * e2) ** 0.5
    if rule == "sixthpower":
        epsilon *= 2 * (s1 * s2) ** 3 / (s1**6 + s2**6)
    return [epsilon, mixed_length(rule, s1, s2), mixed_length(rule, c1, c2)]


def read_pairs(style, words_of_pairs, cutoff):
    """{(element, element): parameters and cutoff} from the words of --pair, and the elements in
    order of appearance."""
    names = style.parameters_of_pair
    usage = f"El1 El2 {' '.join(names)} [cutoff]"
    pairs, elements = {}, []
    for words in words_of_pairs:
        text = " ".join(words)
        if len(words) not in (2 + len(names), 3 + len(names)):
            raise ValueError(f"--pair: got '{text}', expected {usage}")
        try:
            numbers = [float(word) for word in words[2:]]
        except ValueError:
            raise ValueError(f"--pair: got '{text}', expected numbers in {usage}") from None
        if len(numbers) == len(names):
            if cutoff is None:
                raise ValueError(f"--pair: got '{text}' without a cutoff; add it or give --cutoff")
            numbers.append(cutoff)
        if not numbers[-1] > 0:
            raise ValueError(f"--pair: got '{text}', expected a cutoff > 0")
        key = tuple(sorted(words[:2]))
        if key in pairs:
            raise ValueError(f"--pair: got the pair {' '.join(key)} twice, expected it once")
        pairs[key] = numbers
        elements += words[:2]
    return pairs, list(dict.fromkeys(elements))


def parameter_table(style, pairs, elements, mix, shift):
    """(parameters + 2, species, species): parameters, cutoff, offset."""
    table = torch.zeros(len(style.parameters_of_pair) + 2, *2 * [len(elements)]).double()
    for i, first in enumerate(elements):
        for j, second in enumerate(elements):
            own = [pairs.get((e, e)) for e in (first, second)]
            numbers = pairs.get(tuple(sorted((first, second))))
            if numbers is None and mix and all(own):
                numbers = mixed(mix, *own)
            if numbers is None:
                remedy = " or --mix" if "sigma" in style.parameters_of_pair else ""
                raise ValueError(
                    f"--pair: got no parameters of {first} {second}; give them{remedy}"
                )
            cutoff = torch.tensor(numbers[-1], dtype=torch.float64)
            offset = style.energy(cutoff, *numbers[:-1]) if shift else torch.zeros(())
            table[:, i, j] = torch.tensor([*numbers, offset.item()], dtype=torch.float64)
    return table


def network_card(name, style, family, table, elements, dtype_name):
    return make_card(
        name=name,
        family=family,
        cutoff=table[-2].max().item(),
        dtype=dtype_name,
        species=elements,
        inputs={
            "species": "species_index",
            "edge_index": "edge_index",
            "edge_vectors": "edge_vectors",
        },
        outputs={
            "energies": {"role": "atomic_energies", "kind": "per_node", "shape": "(rows)"},
            "forces": {"role": "forces", "kind": "per_node", "shape": "(rows,3)"},
            "virial": {"role": "virial", "kind": "per_graph", "shape": "(3,3)"},
        },
        forces="model",
        expected_exchanges=0,
        spec=spec_from_preset("SPEC_LJ_HALO", [operator_adapter(style.operator)]),
    )


def main(arguments=None):
    options = parser(__doc__, "pair")
    options.add_argument("style", choices=sorted(STYLES), help="the form of the potential")
    options.add_argument(
        "--pair",
        nargs="+",
        action="append",
        required=True,
        metavar="WORD",
        help="parameters of a pair of elements; once for each pair",
    )
    options.add_argument("--cutoff", type=float, help="of pairs that give none, Angstrom")
    options.add_argument(
        "--mix",
        choices=("geometric", "arithmetic", "sixthpower"),
        help="lj: parameters of pairs that are not given, from those of their elements",
    )
    options.add_argument(
        "--shift", action="store_true", help="let the energy of each pair be 0 at its cutoff"
    )
    options = options.parse_args(arguments)
    style = STYLES[options.style]
    if options.mix and options.style != "lj":
        raise ValueError(f"--mix: got it for {options.style}, expected lj, which alone has rules")
    pairs, elements = read_pairs(style, options.pair, options.cutoff)
    table = parameter_table(style, pairs, elements, options.mix, options.shift)
    network = style(table).to(DTYPES[options.dtype]).eval()
    name = f"{options.style}_{'-'.join(elements)}_{options.dtype}"
    card = network_card(name, style, options.style, table, elements, options.dtype)
    atoms = rattled_rocksalt((elements[0], elements[-1]))
    add_reference(card, atoms, evaluate(network, card, atoms))
    write_and_check(torch.jit.script(network), card, options.output)


if __name__ == "__main__":
    run(main)
