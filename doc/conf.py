# SPDX-License-Identifier: GPL-2.0-only
"""Sphinx configuration: `sphinx-build doc build/doc` makes HTML of these pages."""

project = "lammps-nvalchemi"
author = "the lammps-nvalchemi developers"
master_doc = "index"
highlight_language = "none"
html_theme = "alabaster"


def setup(app):
    """LAMMPS's input language, shown without colours where no lexer for it is installed."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("LAMMPS", TextLexer)
