# SPDX-License-Identifier: GPL-2.0-only
"""Energies of atoms that are no sum but a function of their dispersion energies, by the package's
two operators of DFT-D3 and by torch's: the same numbers on any number of ranks. So each row has
another gradient, and those of halo rows travel."""

import json

import test_finite_differences
from comparison import differences
from installation import REPOSITORY
from suite import LammpsTest, Model, main, one_line, scripted_model
from test_charge_equilibration import boxes

BARS = {"dE": 1e-9, "dEatom": 1e-9, "dF": 1e-9, "dS": 1e-10}
OPERATORS = ("nvalchemi_lmp::d3_coordination_numbers", "nvalchemi_lmp::d3_energies")

START = """
    types = data['types']
    radii = 1.5 + 0.3 * self.e[:, 0]
    reference = 0.4 * torch.arange(15, dtype=r.dtype).reshape([3, 5])
    present = reference >= 0.0
    c6 = 40.0 + 30.0 * torch.sin(torch.arange(225, dtype=r.dtype)).reshape([3, 3, 5, 5])
    r2r4 = 3.0 + self.e[:, 1]
    radius = 2.0 + 0.4 * r2r4.unsqueeze(1) * r2r4.unsqueeze(0)
"""
END = """
    h = h + 20.0 * q.unsqueeze(1) + 0.1 * torch.tanh(cn).unsqueeze(1)
"""
FUSED = f"""{START}
    cn = ops.nvalchemi_lmp.d3_coordination_numbers(vec, edge_index, types, radii, 16.0, 8.0, 0.529)
    q = ops.nvalchemi_lmp.d3_energies(vec, edge_index, types, cn, c6, reference, present, r2r4,
        radius, 4.0, 1.0, 0.8, [], 9.4, 0.529)
{END}"""
PLAIN = f"""{START}
    a = types[i]
    b = types[j]
    d = r / 0.529
    x = (8.0 - d).clamp(min=0.0, max=1.0)
    y = (9.4 - d).clamp(min=0.0, max=1.0)
    count = torch.sigmoid(16.0 * ((radii[a] + radii[b]) / d - 1.0))
    count = count * x ** 3 * (10.0 - 15.0 * x + 6.0 * x * x)
    zero = torch.zeros([n], dtype=r.dtype)
    cn = zero.index_add(0, i, count)
    p = torch.softmax(-4.0 * (cn.unsqueeze(1) - reference[types]) ** 2, dim=1)
    c = (p[i].unsqueeze(2) * c6[a, b] * p[j].unsqueeze(1)).sum([1, 2])
    c8 = 3.0 * c * r2r4[a] * r2r4[b]
    pair = c / (d ** 6 + radius[a, b] ** 6) + 0.8 * c8 / (d ** 8 + radius[a, b] ** 8)
    pair = pair * y ** 3 * (10.0 - 15.0 * y + 6.0 * y * y)
    q = zero.index_add(0, i, -0.5 * pair)
{END}"""
OTHER = FUSED.replace("16.0, 8.0", "16.0, 7.9")


def write_spec(folder, adapters=OPERATORS):
    preset = REPOSITORY / "spec" / "presets" / "SPEC_DFTD3_HALO.json"
    content = json.loads(preset.read_text())
    content["core"]["custom_ops"] = [
        {"op": name, "arg_transforms": {}, "output_transforms": {}} for name in adapters
    ]
    path = folder / "dispersion.spec.json"
    path.write_text(json.dumps(content))
    return f"spec {path}"


class Dispersion(LammpsTest):
    def settings(self, adapters=OPERATORS, body=FUSED, name="dispersion", **options):
        model = scripted_model(name, body, 1)
        return model.settings(pair_arguments=write_spec(self.folder, adapters), **options)

    def plain(self, **options):
        return scripted_model("plain_dispersion", PLAIN, 1).settings(**options)

    def test_equals_torchs_operators_on_one_to_four_ranks(self):
        structure = boxes()["tilted"]
        plain = self.decomposed(structure, self.plain(ranks=3))
        alone = self.alone(structure, self.plain())
        for ranks in (1, 2, 3, 4):
            found = self.decomposed(structure, self.settings(ranks=ranks))
            with self.subTest(ranks=ranks):
                self.assert_within(found.reference, alone, structure.volume, BARS)
                self.assertEqual(found.exchanges, plain.exchanges)
                self.assertEqual(found.exchanges, {"forward": 1, "backward": 1})

    def test_another_cutoff_is_seen(self):
        structure = boxes()["tilted"]
        alone = self.alone(structure, self.plain())

        found = self.decomposed(structure, self.settings(body=OTHER, name="other", ranks=2))

        found = differences(found.reference, alone, structure.volume)
        for name, bar in BARS.items():
            self.assertGreater(found[name], bar, name)

    def test_load_names_an_operator_that_has_no_adapter(self):
        structure = boxes()["tilted"]
        self.write_structure(structure)
        settings = self.settings(adapters=OPERATORS[:1], ranks=2)

        run = self.run_input(self.script(structure, settings, ["run 0"]), 2)

        self.assertNotEqual(run.status, 0)
        self.assertIn(f"operator {OPERATORS[1]} at", one_line(run.message))
        self.assertIn("declare it with an adapter", one_line(run.message))


class Forces(test_finite_differences.FiniteDifferences):
    """Forces and stress on two unequal parts are slopes of the energy."""

    test_each_family = None

    def test_slopes_of_the_energy(self):
        structure = boxes()["tilted"]
        arguments = write_spec(self.folder)
        archive = scripted_model("dispersion", FUSED, 1).archive

        class Network(Model):
            def case(self, crystal):
                return structure, None

            def settings(self, **options):
                return super().settings(pair_arguments=arguments, **options)

        self.check(Network("dispersion", archive, 5.0, 1, None), "tilted", 2)


if __name__ == "__main__":
    main()
