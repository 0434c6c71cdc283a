#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes HTML of these pages; links between them that lead nowhere are errors.
#
#   bash doc/build.sh [FOLDER]      default: build/doc; open index.html there
#
# Sphinx is installed once, into the per-user cache (60 MB).
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup/environment.sh"

folder=${1:-${NVALCHEMI_REPO}/build/doc}
nvalchemi_phase "System packages" nvalchemi_check_system_packages python
nvalchemi_phase "Sphinx" nvalchemi_docs_env
nvalchemi_phase "Pages" "${NVALCHEMI_DOCS_DIR}/bin/python3" -m sphinx --quiet --nitpicky --fail-on-warning --builder html \
    "${NVALCHEMI_REPO}/doc" "${folder}"
nvalchemi_say "open ${folder}/index.html"
