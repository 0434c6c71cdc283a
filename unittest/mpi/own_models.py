# SPDX-License-Identifier: GPL-2.0-only
"""Small models whose code is put into the archive as text, for tests of what no other archive does.

The code is TorchScript as archives hold it; LibTorch's Python package is not needed.
"""

import json
import zipfile
from pathlib import Path

import scripted

# A bond potential with a smooth end. `extra`: further lines, which may use i, v, r, e and
# add to out.
PAIR_MODEL = """class ScriptedNetwork(Module):
  __parameters__ = ["w", "u", "e", ]
  __buffers__ = ["rc", ]
  w : Tensor
  u : Tensor
  e : Tensor
  rc : Tensor
  training : bool
  def forward(self: __torch__.ScriptedNetwork,
    data: Dict[str, Tensor]) -> Dict[str, Tensor]:
    edge_index = data["edge_index"]
    i = torch.select(edge_index, 0, 0)
    j = torch.select(edge_index, 0, 1)
    v = data["edge_vec"]
    r = torch.sqrt(torch.sum(torch.mul(v, v), [1]))
    x = torch.exp(torch.mul(torch.sub(r, 2.9), -1.2))
    smooth = torch.pow(torch.clamp(torch.sub(1., torch.div(r, 5.)), 0.), 3)
    pair = torch.mul(torch.sub(torch.mul(x, x), torch.mul(x, 2.)), torch.mul(smooth, 0.5))
    table = self.e
    _1 = annotate(List[Optional[Tensor]], [data["types"]])
    zero = torch.mul(torch.sum(torch.index(table, _1), [1]), 0.)
    e = torch.index_add(zero, 0, i, pair)
    out = annotate(Dict[str, Tensor], {{}})
    torch._set_item(out, "energies", e)
{extra}
    return out
"""


def replace_code(source, target, code):
    """Copy an archive with other code."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            if item.filename.endswith("debug_pkl"):
                continue  # says which lines the old code came from
            content = old.read(item)
            if item.filename.endswith(".py"):
                content = code.encode()
            new.writestr(item.filename, content)


def write_pair_model(folder, name, extra=(), outputs=None, **facts):
    """Path of the archive NAME.pt in `folder`, its card, with these facts, beside it."""
    base = scripted.write_archive(folder, f"{name}_base", scripted.LAYER)
    path = folder / f"{name}.pt"
    code = PAIR_MODEL.format(extra="\n".join(f"    {line}" for line in extra))
    replace_code(base, path, code)
    card = json.loads(Path(base).with_suffix(".card.json").read_text())
    card["name"] = name
    card["outputs"].update(outputs or {})
    card.update(facts)
    path.with_suffix(".card.json").write_text(json.dumps(card))
    return str(path)
