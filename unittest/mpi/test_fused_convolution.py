# SPDX-License-Identifier: GPL-2.0-only
"""A network of two layers whose convolutions are tensor products of scalars and vectors, by the
package's own operator and by torch's: the same numbers on any number of ranks."""

import json
import subprocess

import test_finite_differences
from comparison import differences
from installation import REPOSITORY, find_build_file
from suite import LONG, LammpsTest, Model, main, one_line, scripted_model
from test_charge_equilibration import boxes

BARS = {"dE": 1e-9, "dEatom": 1e-9, "dF": 1e-9, "dS": 1e-10}
OPERATOR = "nvalchemi_lmp::tensor_product_convolution"

# Scalars to scalars and vectors, then both and their cross product to scalars and vectors, of which
# the norm is taken. The filter is (1, direction); weights follow the length alone, so that the
# energy does not change with a rotation.
START = """
    m = torch.tanh(r.unsqueeze(-1) * self.u[0]) * fc
    d = vec / r.unsqueeze(-1)
    s = torch.tanh(h @ self.w)
"""
END = """
    h = h + torch.tanh(a) + torch.tanh((b * b).sum(2))
"""
FUSED = f"""{START}
    y = torch.cat([torch.ones_like(r).unsqueeze(-1), d], 1)
    z = ops.nvalchemi_lmp.tensor_product_convolution(s, y, torch.cat([m, m * m], 1), edge_index,
        [4, 1, 1, 1, 0, 0, 0, 0, 4, 1, 3, 3, 0, 1, 4, 4],
        [0.7, 0.9, 0., 0., 0., 0.9, 0., 0., 0., 0.9])
    t = torch.tanh(z)
    q = ops.nvalchemi_lmp.tensor_product_convolution(t, y, torch.cat([m, m, m * m], 1), edge_index,
        [4, 1, 1, 1, 0, 0, 0, 0, 4, 3, 3, 1, 4, 1, 4, 4, 4, 3, 3, 3, 4, 1, 8, 8],
        [0.8, 0.5, 0., 0., 0., 0.5, 0., 0., 0., 0.5,
         0., 0., 0., 0., 0., 0.6, 0., -0.6, 0., 0., 0., -0.6, 0., 0., 0., 0.6, 0., 0.,
         0., 0.6, 0., -0.6, 0., 0., 0., 0., 0.])
    a = q[:, 0:4] + q[:, 4:8]
    b = q[:, 8:20].reshape([-1, 4, 3])
{END}"""
BY_MESSAGES = f"""{START}
    za = torch.zeros_like(s).index_add(0, i, 0.7 * m * s[j])
    v0 = torch.zeros([n, 4, 3], dtype=s.dtype)
    zb = v0.index_add(0, i, 0.9 * (m * m * s[j]).unsqueeze(2) * d.unsqueeze(1))
    t = torch.tanh(torch.cat([za, zb.reshape([-1, 12])], 1))[j]
    p = t[:, 4:16].reshape([-1, 4, 3])
    inner = (p * d.unsqueeze(1)).sum(2)
    a = torch.zeros_like(s).index_add(0, i, m * (0.8 * t[:, 0:4] + 0.5 * inner))
    outer = torch.cross(p, d.unsqueeze(1).expand([-1, 4, 3]), 2)
    b = v0.index_add(0, i, 0.6 * (m * m).unsqueeze(2) * outer)
{END}"""
OTHER = FUSED.replace("[0.8, 0.5,", "[0.8, 0.501,")


def spec(adapters=(OPERATOR,)):
    preset = REPOSITORY / "spec" / "presets" / "SPEC_MPNN_HALO.json"
    content = json.loads(preset.read_text())
    content["core"]["custom_ops"] = [
        {"op": name, "arg_transforms": {}, "output_transforms": {}} for name in adapters
    ]
    return content


class Fused(LammpsTest):
    def settings(self, adapters=(OPERATOR,), body=FUSED, name="fused", **options):
        path = self.folder / "fused.spec.json"
        path.write_text(json.dumps(spec(adapters)))
        model = scripted_model(name, body, 1)
        return model.settings(pair_arguments=f"spec {path}", **options)

    def by_messages(self, **options):
        return scripted_model("by_messages", BY_MESSAGES, 1).settings(**options)

    def test_equals_the_network_by_messages_on_one_to_four_ranks(self):
        for shape, structure in boxes().items():
            if not LONG and shape != "tilted":
                continue
            plain = self.decomposed(structure, self.by_messages(ranks=3))
            alone = self.alone(structure, self.by_messages())
            for ranks in (1, 2, 3, 4):
                found = self.decomposed(structure, self.settings(ranks=ranks))
                with self.subTest(box=shape, ranks=ranks):
                    self.assert_within(found.reference, alone, structure.volume, BARS)
                    self.assertEqual(found.exchanges, plain.exchanges)
                    self.assertEqual(found.exchanges, {"forward": 1, "backward": 1})

    def test_another_coefficient_is_seen(self):
        structure = boxes()["tilted"]
        alone = self.alone(structure, self.by_messages())

        found = self.decomposed(structure, self.settings(body=OTHER, name="other", ranks=2))

        found = differences(found.reference, alone, structure.volume)
        for name, bar in BARS.items():
            self.assertGreater(found[name], bar, name)

    def test_load_names_the_operator_that_has_no_adapter(self):
        structure = boxes()["tilted"]
        self.write_structure(structure)
        settings = self.settings(adapters=(), ranks=2)

        run = self.run_input(self.script(structure, settings, ["run 0"]), 2)

        self.assertNotEqual(run.status, 0)
        self.assertIn(f"operator {OPERATOR} at", one_line(run.message))
        self.assertIn("declare it with an adapter", one_line(run.message))

    def validate(self, adapters):
        settings = self.settings(adapters)
        card = settings.archive.removesuffix(".pt") + ".card.json"
        case = self.folder / "case.json"
        case.write_text(json.dumps(boxes()["tilted"].to_document()))
        words = ["--archive", settings.archive, "--card", card, "--structure", str(case)]
        words += ["--ranks", "3", "--spec", str(self.folder / "fused.spec.json")]
        done = subprocess.run(
            [find_build_file("nvalchemi-validate"), *words],
            capture_output=True,
            text=True,
            timeout=300,
            env=self.installation.environment(1),
        )
        return done.returncode, done.stdout + done.stderr

    def test_validator_passes_and_names_the_operator_that_has_no_adapter(self):
        status, output = self.validate((OPERATOR,))
        self.assertEqual(status, 0, output)
        self.assertIn("PASSED", output)

        status, output = self.validate(())
        self.assertNotEqual(status, 0, output)
        self.assertIn(OPERATOR, output)


class Forces(test_finite_differences.FiniteDifferences):
    """Forces and stress on two unequal parts are slopes of the energy."""

    test_each_family = None

    def test_slopes_of_the_energy(self):
        structure = boxes()["tilted"]
        path = self.folder / "fused.spec.json"
        path.write_text(json.dumps(spec()))
        archive = scripted_model("fused", FUSED, 1).archive

        class Network(Model):
            def case(self, crystal):
                return structure, None

            def settings(self, **options):
                return super().settings(pair_arguments=f"spec {path}", **options)

        self.check(Network("fused", archive, 5.0, 1, None), "tilted", 2)


if __name__ == "__main__":
    main()
