# SPDX-License-Identifier: GPL-2.0-only
# The virtual environments that export models: large, made on request. Sourced by environment.sh.
#
# sevenn needs e3nn 0.5 or later and mace-torch needs e3nn 0.4.4 exactly, so no environment can hold both. Each
# further family (mace, d3, nequip, orb) has a small environment of its own beside SevenNet's, from which it takes
# torch, nearly all of the download.

# nvalchemi_python_for_export: print a Python that TorchScript supports (3.11 to 3.13), or stop.
nvalchemi_python_for_export() {
    local candidate
    for candidate in "${NVALCHEMI_PYTHON}" python3.13 python3.12 python3.11; do
        if "${candidate}" -I -c 'import sys, venv, ensurepip
sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; then
            command -v "${candidate}"
            return 0
        fi
    done
    nvalchemi_fail "exporting a model needs Python 3.11, 3.12 or 3.13 with venv, and none was found" \
        "'${NVALCHEMI_PYTHON}' is $("${NVALCHEMI_PYTHON}" --version 2>&1); TorchScript does not work on 3.14 and later." \
        "Install one of them (for example: apt-get install python3.13-venv) and set NVALCHEMI_PYTHON=python3.13," \
        "or set NVALCHEMI_EXPORT_PYTHON to a Python that has torch and the model's package," \
        "or use an archive that was exported on another machine."
}

nvalchemi_fill_export() {
    nvalchemi_pip "$1/bin/python3" install --no-compile -r "${nvalchemi_setup_dir}/requirements-export.txt"
    "$1/bin/python3" -I -c 'import torch, sevenn' || nvalchemi_fail "torch and sevenn do not import in $1"
}

# nvalchemi_export_name PYTHON: print the name of the export environment made with that Python.
nvalchemi_export_name() {
    printf 'export-%s\n' "$(nvalchemi_environment_key "$1" "${nvalchemi_setup_dir}/requirements-export.txt")"
}

# nvalchemi_find_export_env: set NVALCHEMI_EXPORT_PYTHON and NVALCHEMI_EXPORT_<FAMILY>_PYTHON where these
# environments are there already; make none.
nvalchemi_find_export_env() {
    local python cache name family variable
    cache=$(nvalchemi_cache_dir)
    if [ -z "${NVALCHEMI_EXPORT_PYTHON:-}" ]; then
        python=$(nvalchemi_python_for_export 2>/dev/null) || return 0
        name=$(nvalchemi_export_name "${python}")
        nvalchemi_environment_is_complete "${cache}/${name}" || return 0
        export NVALCHEMI_EXPORT_PYTHON="${cache}/${name}/bin/python3"
    fi
    for family in ${nvalchemi_export_families}; do
        variable=$(nvalchemi_family_variable "${family}")
        [ -z "${!variable:-}" ] || continue
        name=$(nvalchemi_family_name "${family}" 2>/dev/null) || continue
        nvalchemi_environment_is_complete "${cache}/${name}" || continue
        export "${variable}=${cache}/${name}/bin/python3"
    done
}

# nvalchemi_export_env: make or reuse the environment that exports models (Python torch and sevenn).
# Sets NVALCHEMI_EXPORT_PYTHON; one that the user has set is used as it is.
nvalchemi_export_env() {
    if [ -n "${NVALCHEMI_EXPORT_PYTHON:-}" ]; then
        nvalchemi_say "using NVALCHEMI_EXPORT_PYTHON=${NVALCHEMI_EXPORT_PYTHON}"
        return 0
    fi
    local python cache name
    python=$(nvalchemi_python_for_export)
    cache=$(nvalchemi_cache_dir)
    name=$(nvalchemi_export_name "${python}")
    nvalchemi_environment_is_complete "${cache}/${name}" ||
        nvalchemi_say "Python torch with its CUDA libraries: a download of 2 to 3 GB, 5.2 GB on disk, made once"
    nvalchemi_with_lock "${cache}/${name}.lock" nvalchemi_make_environment \
        "${cache}/${name}" "${python}" 8000 nvalchemi_fill_export
    export NVALCHEMI_EXPORT_PYTHON="${cache}/${name}/bin/python3"
}

# --- families with an environment of their own ------------------------------------------------------------

nvalchemi_export_families="mace d3 nequip orb"

# nvalchemi_family_variable FAMILY: print the name of the variable that holds the family's Python.
nvalchemi_family_variable() { printf 'NVALCHEMI_EXPORT_%s_PYTHON\n' "${1^^}"; }

# nvalchemi_family_facts FAMILY: set `holds` (what is downloaded), `imports` (what must import afterwards) and
# `options` (of pip) in the caller.
nvalchemi_family_facts() {
    options=()
    case "$1" in
        mace)
            holds="mace-torch with the e3nn it needs: a download of about 20 MB, 60 MB on disk, made once"
            imports="torch, mace.calculators"
            ;;
        nequip)
            holds="nequip and nequip-allegro: a download of about 10 MB, 45 MB on disk, made once"
            imports="torch, nequip.integrations.ase, allegro"
            ;;
        orb)
            holds="orb-models: a download of about 30 MB, 110 MB on disk, made once"
            imports="torch, orb_models.forcefield.calculator"
            ;;
        d3)
            holds="torch-dftd: a download of 1 MB, made once"
            imports="torch, torch_dftd.functions.dftd3, torch_dftd.dftd3_xc_params"
            options=(--no-deps) # pymatgen, 200 MB with what it needs, serves its calculator alone
            ;;
    esac
}

# nvalchemi_site_of_torch: print the folder that holds the torch of NVALCHEMI_EXPORT_PYTHON.
nvalchemi_site_of_torch() {
    "${NVALCHEMI_EXPORT_PYTHON}" -c 'import importlib.util, os
print(os.path.dirname(os.path.dirname(importlib.util.find_spec("torch").origin)))' 2>/dev/null ||
        nvalchemi_fail "NVALCHEMI_EXPORT_PYTHON=${NVALCHEMI_EXPORT_PYTHON} has no torch" \
            "Unset it, or set it to a Python that has torch."
}

# nvalchemi_family_name FAMILY: print the name of its environment; another torch is another environment.
nvalchemi_family_name() {
    local site
    site=$(nvalchemi_site_of_torch) || return 1
    printf 'export-%s-%s\n' "$1" "$(nvalchemi_environment_key "${NVALCHEMI_EXPORT_PYTHON}" \
        "${nvalchemi_setup_dir}/requirements-export-$1.txt" <(echo "${site}"))"
}

# The packages of this environment come before those of the other, which are found through the .pth file. That a
# package which is not imported here, such as sevenn, finds another version than it asks for, is no conflict to warn of.
nvalchemi_fill_family() {
    local family=$1 python="$2/bin/python3" holds imports options
    nvalchemi_family_facts "${family}"
    nvalchemi_site_of_torch >"$(echo "$2"/lib/python3*/site-packages)/torch_of_another_environment.pth"
    nvalchemi_pip "${python}" install --no-compile --no-warn-conflicts "${options[@]}" \
        -r "${nvalchemi_setup_dir}/requirements-export-${family}.txt"
    TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 "${python}" -c "import ${imports}" >/dev/null 2>&1 ||
        nvalchemi_fail "'import ${imports}' fails in $2"
}

# nvalchemi_export_family_env FAMILY: make or reuse the environment that exports models of the family, and first
# the one whose torch it takes. Sets NVALCHEMI_EXPORT_<FAMILY>_PYTHON; one that the user has set is used as it is.
nvalchemi_export_family_env() {
    local family=$1 variable cache name holds imports options
    variable=$(nvalchemi_family_variable "${family}")
    if [ -n "${!variable:-}" ]; then
        nvalchemi_say "using ${variable}=${!variable}"
        return 0
    fi
    nvalchemi_family_facts "${family}"
    cache=$(nvalchemi_cache_dir)
    nvalchemi_export_env
    name=$(nvalchemi_family_name "${family}")
    nvalchemi_environment_is_complete "${cache}/${name}" || nvalchemi_say "${holds}"
    nvalchemi_with_lock "${cache}/${name}.lock" nvalchemi_make_environment \
        "${cache}/${name}" "${NVALCHEMI_EXPORT_PYTHON}" 200 nvalchemi_fill_family "${family}"
    export "${variable}=${cache}/${name}/bin/python3"
}

# nvalchemi_all_export_envs: the environments of all exporters.
nvalchemi_all_export_envs() {
    local family
    nvalchemi_export_env
    for family in ${nvalchemi_export_families}; do nvalchemi_export_family_env "${family}"; done
}
