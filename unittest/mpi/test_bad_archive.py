# SPDX-License-Identifier: GPL-2.0-only
"""Archives that are damaged, or made to do harm: refused with the reason, and nothing is done."""

import io
import json
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
from own_models import write_pair_model
from suite import LONG, LammpsTest, main, model, one_line

SECONDS = 30


class BadArchive(LammpsTest):
    def setUp(self):
        super().setUp()
        self.toy = model("toy_index_add")
        self.structure = self.toy.case("nacl64")[0]
        self.whole = Path(self.toy.archive).read_bytes()
        self.card = Path(self.toy.archive).with_suffix(".card.json").read_text()

    def load(self, content, name="bad", ranks=2, card=None):
        path = self.folder / f"{name}.pt"
        path.write_bytes(content)
        path.with_suffix(".card.json").write_text(card or self.card)
        settings = self.toy.settings(
            ranks=ranks, pair_lines=("pair_style nvalchemi", f"pair_coeff * * {name}.pt Na Cl")
        )
        self.write_structure(self.structure)
        lines = ["thermo_style custom step pe", "thermo_modify format float %.17g", "run 0"]
        return self.run_input(self.script(self.structure, settings, lines), ranks, timeout=60)

    def refused(self, run, *texts):
        self.assertNotIn(run.status, (0, None), run.output[-1000:])
        self.assertLess(run.seconds, SECONDS)
        for text in texts:
            self.assertRegex(one_line(run.message), text)

    def changed(self, **changes):
        """The archive with files replaced: a part of the name -> bytes."""
        buffer = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self.whole)) as source,
            zipfile.ZipFile(buffer, "w") as target,
        ):
            for item in source.infolist():
                content = source.read(item)
                for part, other in changes.items():
                    if item.filename.endswith(part.replace("__", ".")):
                        content = other
                target.writestr(item.filename, content)
        return buffer.getvalue()


class Damaged(BadArchive):
    def test_cut_short_anywhere(self):
        for bytes_kept in (5, 1000, len(self.whole) // 3, len(self.whole) - 5):
            with self.subTest(bytes_kept=bytes_kept):
                self.refused(self.load(self.whole[:bytes_kept]), "LibTorch cannot load")

    def test_changed_bytes_are_seen_or_change_nothing(self):
        run = self.load(self.whole)
        expected = run.require_success().log.split("PotEng")[1].split()[1]
        places = np.random.default_rng(5).integers(4, len(self.whole), 40 if LONG else 6)
        for place in places:
            damaged = bytearray(self.whole)
            damaged[place] ^= 8
            with self.subTest(place=int(place)):
                run = self.load(bytes(damaged))
                if run.status == 0:
                    self.assertEqual(run.log.split("PotEng")[1].split()[1], expected)
                else:
                    self.refused(run, "ERROR")

    def test_a_changed_weight_is_seen(self):
        with zipfile.ZipFile(io.BytesIO(self.whole)) as file:
            items = [item for item in file.infolist() if "/data/" in item.filename]
            largest = max(items, key=lambda item: item.file_size)
            weights = file.read(largest)
        at = self.whole.index(weights) + len(weights) // 2
        damaged = bytearray(self.whole)
        damaged[at] ^= 64
        self.refused(
            self.load(bytes(damaged)), rf"{largest.filename}: its content does not have its checks"
        )


class LaterTorch(BadArchive):
    """Archives that a later torch has written than the one that runs."""

    LATER = r"written by torch 99\.1\.0, later than the LibTorch [\d.]+\S* that runs; export it "
    REMEDY = r"again with torch [\d.]+ or older, or build and run the plugin with LibTorch 99\.1\.0"

    def card_of(self, version):
        return json.dumps({**json.loads(self.card), "torch_version": version})

    def with_card_inside(self, content, card):
        buffer = io.BytesIO(content)
        with zipfile.ZipFile(buffer, "a") as file:
            top = file.namelist()[0].partition("/")[0]
            file.writestr(f"{top}/extra/nvalchemi.json", card)
        return buffer.getvalue()

    def test_is_warned_of(self):
        for version, warns in (("99.1.0", True), ("1.13.1", False)):
            run = self.load(self.whole, card=self.card_of(version)).require_success()
            with self.subTest(version=version):
                self.assertEqual(
                    bool(re.search(self.LATER + self.REMEDY, one_line(run.log))), warns
                )

    def test_is_named_where_an_operator_is_missing(self):
        archive = write_pair_model(self.folder, "op", ("_2 = torch.made_of_late(r)",))
        content = Path(archive).read_bytes()
        for version, texts in (
            ("99.1.0", (f"The archive was {self.LATER}{self.REMEDY}",)),
            ("1.13.1", ()),
        ):
            with self.subTest(version=version):
                run = self.load(self.with_card_inside(content, self.card_of(version)))
                self.refused(run, "made_of_late", *texts)
                self.assertEqual("later than the LibTorch" in one_line(run.message), bool(texts))

    def test_is_named_where_the_format_is_not_known(self):
        content = self.changed(**{"/version": b"99\n"})
        self.refused(
            self.load(content),
            "got a file that LibTorch cannot load",
            r"written by a later torch than the LibTorch [\d.]+\S* that runs; export it again",
        )
        inside = self.with_card_inside(content, self.card_of("99.1.0"))
        self.refused(self.load(inside), f"The archive was {self.LATER}{self.REMEDY}")


class Malicious(BadArchive):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "harm_was_done"

    def did_no_harm(self, content, *texts, card=None):
        self.refused(self.load(content, "evil", card=card), *texts)
        self.assertFalse(self.trace.exists())

    def test_code_in_a_pickle_is_never_run(self):
        trace = str(self.trace)

        class Evil:
            def __reduce__(self):
                return (open, (trace, "w"))

        code = pickle.dumps(Evil(), protocol=2)
        pickle.loads(code).close()
        self.assertTrue(self.trace.exists())  # the trap works
        self.trace.unlink()
        self.did_no_harm(code, "no zip archive")
        self.did_no_harm(self.changed(data__pkl=code), "ERROR")
        self.did_no_harm(self.changed(constants__pkl=code), "ERROR")

    def test_names_never_lead_out(self):
        buffer = io.BytesIO(self.whole)
        with zipfile.ZipFile(buffer, "a") as file:
            file.writestr("../harm_was_done", "x")
        self.did_no_harm(buffer.getvalue(), r"'\.\./harm_was_done', which leads out")

    def test_what_unpacks_to_too_much(self):
        buffer = io.BytesIO(self.whole)
        with (
            zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as file,
            file.open("toy_index_add/code/big.py", "w") as stream,
        ):
            for _ in range(300):
                stream.write(bytes(1 << 20))
        self.did_no_harm(buffer.getvalue(), "compressed files of more than 268435456 bytes")

    def test_operators_that_write_files_are_refused_before_they_run(self):
        for name, call in (
            ("save", f'torch.save(r, "{self.trace}")'),
            ("save", f'torch . save(r, "{self.trace}")'),
            ("save", f'ops.aten.save(r, "{self.trace}")'),
            ("from_file", f'y = torch.from_file("{self.trace}", True, 10)'),
            ("getattr", f'getattr(torch, "\\x73ave")(r, "{self.trace}")'),
            ("getattr", f"getattr(torch, 'sav\\145')(r, \"{self.trace}\")"),
        ):
            with self.subTest(call=call):
                path = Path(write_pair_model(self.folder, "writer", [call]))
                card = path.with_suffix(".card.json").read_text()
                reason = f"got '{name}' in the model's code .*serves to read or write files"
                self.did_no_harm(path.read_bytes(), reason, card=card)


if __name__ == "__main__":
    main()
