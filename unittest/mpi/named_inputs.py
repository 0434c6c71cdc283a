# SPDX-License-Identifier: GPL-2.0-only
"""A scripted network with inputs that its card names, and where tests take their values from."""

import json
from pathlib import Path

import numpy as np
import scripted
from structure import to_restricted_frame
from suite import LammpsTest, replace, scripted_model

# Moments couple over edges, make features that a second layer exchanges, and see a field.
MAGNET = """
    s = data['moments']
    dot = (s[i] * s[j]).sum(1, keepdim=True)
    h = h + torch.zeros_like(h).index_add(0, i, 0.4 * dot * m)
    g = torch.tanh(h + s @ self.u + 0.1 * self.e[data['site']])
    h = h + torch.zeros_like(h).index_add(0, i, (g[j] @ self.w) * m)
    h = h - 0.2 * (s * data['field']).sum(1, keepdim=True)
"""
NAMED = {
    "moments": {"role": "atom_input", "name": "moments", "columns": 3, "unit": "mu_B"},
    "site": {"role": "atom_input", "name": "site", "dtype": "int64", "default": 0},
    "field": {"role": "system_input", "name": "field", "columns": 3, "default": [0, 0, 0.5]},
}
CHARGED = "    h = h + (data['q'] * data['total']).unsqueeze(-1) * 0.3\n" + scripted.LAYER
CHARGE_ROLES = {"q": {"role": "charges"}, "total": {"role": "total_charge"}}

VARIABLES = (
    "variable mx atom sin(id)",
    "variable my atom 0.5*cos(2*id)",
    "variable mz atom sin(3*id+1)",
    "variable kind atom id%3",
    "variable one equal 0.3",
    "variable field vector [0.3,-0.2,0.7]",
    "variable bad equal -0.2",
)
FIELD = (0.3, -0.2, 0.7)
CONSTANT_FIELD = "input field 0.3 -0.2 0.7"
BY_VARIABLE = "input moments v_mx v_my v_mz input site v_kind"
PROPERTIES = (
    "fix own all property/atom d_mx i_kind d2_rest 2",
    "set atom * d_mx v_mx i_kind v_kind d2_rest[1] v_my d2_rest[2] v_mz",
)
BY_PROPERTY = "input moments d_mx d2_rest[1] d2_rest[2] input site i_kind"
PRINTED = ("thermo_style custom step pe", "thermo_modify format float %.17g")
BAR = 1e-11


def named_model(name, body, roles):
    """A scripted network whose card names further inputs."""
    model = scripted_model(name, body, 1)
    path = Path(model.archive).with_suffix(".card.json")
    card = json.loads(path.read_text())
    card["inputs"].update(roles)
    path.write_text(json.dumps(card))
    return model


def inputs_of(ids, field=FIELD):
    """What the variables above say of atoms, as a case has it."""
    moments = np.stack([np.sin(ids), 0.5 * np.cos(2 * ids), np.sin(3 * ids + 1)], axis=1)
    return {"moments": moments.tolist(), "site": (ids % 3).tolist(), "field": list(field)}


class InputTest(LammpsTest):
    def setUp(self):
        super().setUp()
        self.model = named_model("magnet", MAGNET, NAMED)
        crystal = to_restricted_frame(scripted.crystal("nacl64"))
        self.structure = replace(crystal, inputs=inputs_of(np.arange(1, 65)))

    def settings(self, words, ranks=1, lines=VARIABLES, **options):
        """`lines` come before the pair style."""
        archive = options.pop("archive", self.model).archive
        style = options.pop("style", "nvalchemi")
        test = options.pop("selftest", "no")
        return self.model.settings(
            ranks=ranks,
            style=style,
            pair_lines=(
                *lines,
                f"pair_style {style} selftest {test} {words}",
                f'pair_coeff * * "{archive}" Na Cl',
            ),
            **options,
        )
