# SPDX-License-Identifier: GPL-2.0-only
"""What the style writes to log and screen: publications, and as much as keyword verbose says."""

import json
import os
import re
from pathlib import Path
from unittest import mock

import scripted
from suite import LammpsTest, main, scripted_model


class Log(LammpsTest):
    def setUp(self):
        super().setUp()
        self.model = scripted_model("two_layers", scripted.TWO_LAYERS, 1)
        self.structure = scripted.crystal("nacl64")

    def log(self, words="", lines=("run 2",), card=None, arguments=()):
        if card:
            (self.folder / "changed.card.json").write_text(json.dumps(card))
            words += " card changed.card.json"
        settings = self.model.settings(ranks=2, pair_arguments=words)
        return self.run_structure(self.structure, settings, lines, arguments=arguments).log

    def test_cites_the_package(self):
        log = self.log()

        self.assertIn("pair_style nvalchemi: lammps-nvalchemi 0.1.0", log)
        self.assertNotIn("doi.org/10.1021/acs.jctc.4c00190", log)

    def test_cites_the_publication_of_the_family_of_the_model(self):
        card = json.loads(Path(self.model.archive).with_suffix(".card.json").read_text())
        log = self.log(card={**card, "family": "sevennet"}, arguments=("-cite", "both"))

        self.assertIn("SevenNet potential: https://doi.org/10.1021/acs.jctc.4c00190", log)

    def test_says_how_many_threads_the_model_uses_and_how_they_wait(self):
        spin = "threads that wait keep their cores busy"
        one, two = (self.log(f"threads {threads}") for threads in (1, 2))

        self.assertRegex(one, r"\n  device \S.*, 1 LibTorch thread per rank\n")
        self.assertRegex(two, r"\n  device \S.*, 2 LibTorch threads per rank\n")
        self.assertNotIn(spin, one + two)  # these tests run as after `. build/env.sh`

    def test_plugin_alone_has_threads_sleep_or_says_that_they_spin(self):
        """It comes in time where LAMMPS brings no OpenMP, whose runtime is the first that tells."""
        settings = self.model.settings(ranks=1, pair_arguments="threads 2")
        with mock.patch.dict(os.environ, OMP_DISPLAY_ENV="verbose"):
            os.environ.pop("OMP_WAIT_POLICY", None)
            run = self.run_structure(self.structure, settings, ["run 0"])
        first = re.search(r"GOMP_SPINCOUNT = '(\d+)'", run.output).group(1)

        self.assertEqual("threads that wait keep their cores busy" in run.log, first != "0")

    def test_is_silent_where_nothing_is_to_be_cited(self):
        self.assertNotIn("lammps-nvalchemi 0.1.0", self.log(arguments=("-nocite",)))

    def test_verbose_chooses_how_much_is_said(self):
        model, exchange = "nvalchemi: model ", "width"
        progress = "nvalchemi: evaluation 1 took "
        quiet, usual, much = (self.log(f"verbose {level}") for level in (0, 1, 2))

        for text, log, said in (
            (model, quiet, False),
            ("nvalchemi: loading ", quiet, False),
            ("evaluations, seconds per rank", quiet, False),
            ("evaluations, seconds per rank", usual, True),
            (model, usual, True),
            ("nvalchemi: loading ", usual, True),
            (progress, usual, False),
            (model, much, True),
            (exchange, much, True),
            ("nvalchemi: loaded in ", much, True),
            (progress, much, True),
            ("nvalchemi: evaluation 3 took ", much, True),
        ):
            self.assertEqual(text in log, said, text)
        self.assertGreater(len(much), len(usual))
        self.assertGreater(len(usual), len(quiet))

    def test_tells_the_precision_of_the_model(self):
        for dtype, other in (("float32", "float64"), ("float64", "float32")):
            self.model = scripted_model(f"in_{dtype}", scripted.TWO_LAYERS, 1, dtype)
            with self.subTest(dtype=dtype):
                log = self.log()
                self.assertIn(f"dtype {dtype}", log)
                self.assertNotIn(f"dtype {other}", log)

    def test_splits_the_time_of_a_step(self):
        log = self.log(lines=("fix move all nve", "run 3", "run 20"))
        table = log.rpartition("evaluations, seconds per rank")[2]
        number = r" +([\d.e+-]+)"
        rows = re.findall(rf"^  (\w+) +\|{number} \|{number} \|{number} \|{number}", table, re.M)

        self.assertIn("nvalchemi: 21 evaluations, seconds per rank", log)
        self.assertEqual([row[0] for row in rows], ["graph", "model", "exchange", "accumulate"])
        for name, *numbers in rows:
            least, mean, most, share = map(float, numbers)
            self.assertTrue(0.0 < least <= mean <= most, name)
            # numbers of four digits; shares are of the sum of means
            total = sum(float(row[2]) for row in rows)
            self.assertAlmostEqual(share, 100 * mean / total, delta=0.1, msg=name)

    def test_only_the_first_evaluations_are_reported(self):
        log = self.log("verbose yes", lines=("run 6",))

        self.assertEqual(log.count("LibTorch compiles in the first"), 3)


if __name__ == "__main__":
    main()
