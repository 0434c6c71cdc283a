#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Export an Allegro model as an archive: export_nequip.py, whose framework it is, under the name
that a user of Allegro looks for."""

import export_nequip

if __name__ == "__main__":
    export_nequip.run(lambda: export_nequip.main(default_name="allegro"))
