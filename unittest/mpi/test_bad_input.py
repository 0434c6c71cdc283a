# SPDX-License-Identifier: GPL-2.0-only
"""Input that cannot work ends every rank at once, with a message that says what to do."""

import json
import zipfile
from pathlib import Path

import scripted
from suite import LammpsTest, main, model, one_line, scripted_model

SECONDS = 30
REPOSITORY = Path(__file__).resolve().parents[2]


class BadInput(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]
        self.card = json.loads(Path(self.toy.archive).with_suffix(".card.json").read_text())

    def refused(
        self,
        texts,
        coeff=None,
        style="nvalchemi",
        ranks=2,
        lines=("run 0",),
        environment=None,
        **options,
    ):
        coeff = coeff or f'pair_coeff * * "{self.toy.archive}" Na Cl'
        settings = self.toy.settings(
            ranks=ranks, pair_lines=(f"pair_style {style}", coeff), **options
        )
        self.write_structure(self.structure)
        run = self.run_input(
            self.script(self.structure, settings, lines), ranks, timeout=60, environment=environment
        )
        message = " ".join(run.message.split())
        self.assertNotIn(run.status, (0, None), message)
        self.assertLess(run.seconds, SECONDS)
        self.assertIn("ERROR", message)
        for text in texts:
            self.assertIn(text, message)

    def refused_card(self, texts, **changes):
        """The toy's card with changes: a value, or None to remove the key."""
        card = dict(self.card)
        for key, value in changes.items():
            card.pop(key, None)
            if value is not None:
                card[key] = value
        (self.folder / "changed.card.json").write_text(json.dumps(card))
        self.refused(texts, style="nvalchemi card changed.card.json")

    def test_another_lammps_of_the_same_version(self):
        self.refused(
            ["built with headers of another LAMMPS", "'nlocal' is not where they say", "Build the"],
            environment={"NVALCHEMI_FAULT": "wrong_layout"},
        )

    def test_archive_is_missing(self):
        self.refused(
            ["cannot read model archive 'nowhere.pt'", "No such file", "Check the name"],
            "pair_coeff * * nowhere.pt Na Cl",
        )

    def test_archive_is_a_folder(self):
        (self.folder / "folder.pt").mkdir()
        self.refused(["folder.pt", "it is a folder"], "pair_coeff * * folder.pt Na Cl")

    def test_archive_is_empty(self):
        (self.folder / "empty.pt").write_bytes(b"")
        self.refused(["empty.pt"], "pair_coeff * * empty.pt Na Cl")

    def test_archive_is_no_torchscript(self):
        (self.folder / "text.pt").write_text("this is no archive\n" * 100)
        self.refused(
            ["text.pt", "no zip archive", "torch.jit.save"], "pair_coeff * * text.pt Na Cl"
        )

    def test_archive_is_cut_short(self):
        whole = Path(self.toy.archive).read_bytes()
        (self.folder / "short.pt").write_bytes(whole[: len(whole) // 2])
        self.refused(["short.pt", "LibTorch cannot load"], "pair_coeff * * short.pt Na Cl")

    def test_archive_has_no_card(self):
        (self.folder / "bare.pt").write_bytes(Path(self.toy.archive).read_bytes())
        self.refused(
            ["bare.pt", "without a model card", "NAME.card.json beside it"],
            "pair_coeff * * bare.pt Na Cl",
        )

    def test_card_lacks_a_field(self):
        for key in ("cutoff", "species", "outputs", "dtype"):
            with self.subTest(key=key):
                self.refused_card(["changed.card.json", key], **{key: None})

    def test_card_has_a_wrong_field(self):
        for key, value, text in (
            ("cutoff", "five", "a number"),
            ("rows", "flat", "folded"),
            ("dtype", "float16", "float64"),
            ("kutoff", 5.0, "kutoff"),
            ("format_version", 2, "format_version"),
        ):
            with self.subTest(key=key):
                self.refused_card(["changed.card.json", key, text], **{key: value})

    def test_card_states_another_number_of_exchanges(self):
        self.refused_card(
            [
                f"/expected_exchanges: got 7, but the distribution pass finds {self.toy.exchanges}",
                "halo_forward, width",
            ],
            expected_exchanges=7,
        )

    def test_card_that_does_not_fit_its_archive(self):
        """The example's card with its elements in the other order."""
        archive = REPOSITORY / "examples" / "lammps" / "minimal" / "example_network.pt"
        with zipfile.ZipFile(archive) as file:
            name = next(n for n in file.namelist() if n.endswith("nvalchemi.json"))
            card = json.loads(file.read(name))
        card["species"].reverse()
        (self.folder / "swapped.json").write_text(json.dumps(card))
        self.refused(
            ["/reference: energy (eV): got ", "as the exporter computed it", 'order of "species"'],
            f'pair_coeff * * "{archive}" Na Cl',
            style="nvalchemi card swapped.json",
        )

    def test_archive_in_the_wrong_command(self):
        self.refused(
            ["got 'model.pt', expected keywords and values", "pair_coeff * * model.pt El1 El2"],
            style="nvalchemi model.pt",
        )

    def test_card_is_no_json(self):
        (self.folder / "broken.json").write_text('{"format": "nvalchemi-model",')
        self.refused(["broken.json"], style="nvalchemi card broken.json")

    def test_unknown_element(self):
        self.refused(
            ["got element 'Xx' for atom type 2", "expected one that the model knows"],
            f'pair_coeff * * "{self.toy.archive}" Na Xx',
        )

    def test_wrong_number_of_elements(self):
        for symbols, got in (("Na", "1 element symbol,"), ("Na Cl Cl", "3 element symbols,")):
            self.refused(
                [f"got {got} expected 2"],
                f'pair_coeff * * "{self.toy.archive}" {symbols}',
            )

    def test_masses_of_other_elements_are_warned_of(self):
        lines = ["mass 1 35.45", "mass 2 35.45", "run 0"]
        settings = self.toy.settings(ranks=2)
        log = one_line(self.run_structure(self.structure, settings, lines).log)
        self.assertIn(
            "WARNING: Pair style nvalchemi: atom type 1: got mass 35.45, which is nearest to Cl, "
            "expected about 22.99 of Na. Check the order of the elements in pair_coeff",
            log,
        )
        self.assertNotIn("atom type 2: got mass", log)

    def test_null_without_hybrid(self):
        self.refused(
            ["got NULL for atom type 2", "hybrid"], f'pair_coeff * * "{self.toy.archive}" Na NULL'
        )

    def test_pair_coeff_for_some_types_only(self):
        self.refused(["must start with * *"], f'pair_coeff 1 2 "{self.toy.archive}" Na Cl')

    def test_unknown_keywords_and_values(self):
        for words, text in (
            ("devise cpu", "got unknown keyword 'devise'"),
            ("device gpu", "keyword device: got 'gpu', expected auto, cpu"),
            ("threads 0", "keyword threads: got '0'"),
            ("exclusions maybe", "expected allow or refuse"),
            ("card", "keyword card: got no value"),
        ):
            with self.subTest(words=words):
                self.refused([text], style=f"nvalchemi {words}")

    def test_units_without_a_physical_meaning(self):
        for units in ("lj", "si", "electron"):
            with self.subTest(units=units):
                self.refused([f"got '{units}', expected 'metal' or 'real'"], units=units)

    def test_torch_operator_that_is_not_registered(self):
        known = Path(scripted_model("known", scripted.LAYER, 0).archive)
        unknown = self.folder / "unknown.pt"
        with zipfile.ZipFile(known) as source, zipfile.ZipFile(unknown, "w") as target:
            for item in source.infolist():
                content = source.read(item)
                if item.filename.endswith(".py"):
                    content = content.replace(b"torch.tanh(", b"ops.elsewhere.tanh(")
                target.writestr(item, content)
        self.refused(
            ["calls the torch operator 'elsewhere::tanh'", "not registered", '"ops" list'],
            "pair_coeff * * unknown.pt Na Cl",
            style=f'nvalchemi card "{known.with_suffix(".card.json")}"',
        )

    def test_operator_library_that_is_missing(self):
        self.refused_card(
            ["operator library 'libnowhere.so' cannot be loaded", "LD_LIBRARY_PATH"],
            ops=["libnowhere.so"],
        )

    def test_model_that_cannot_be_distributed(self):
        largest = scripted_model("largest", scripted.LAYER + "    h = h - torch.amax(h, 0)\n", None)
        self.refused(
            ["cannot distribute the model", "aten::amax", "at <string>:"],
            f'pair_coeff * * "{largest.archive}" Na Cl',
        )

    def test_one_rank_gives_the_same_messages(self):
        self.refused(
            ["cannot read model archive 'nowhere.pt'"], "pair_coeff * * nowhere.pt Na Cl", ranks=1
        )

    def test_atoms_on_top_of_each_other(self):
        self.structure.positions[1] = self.structure.positions[0]
        self.refused(["of atom ", "(type ", "is not finite. Look for overlapping atoms"])


if __name__ == "__main__":
    main()
