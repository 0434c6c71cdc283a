# SPDX-License-Identifier: GPL-2.0-only
# The virtual environments that export models: large, made on request. Sourced by environment.sh.
#
# sevenn needs e3nn 0.5 or later and mace-torch needs e3nn 0.4.4 exactly, so no environment can hold both. Each
# further family (mace, nequip, orb) has a small environment of its own, which takes torch, nearly all of the
# download, from SevenNet's.

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

# nvalchemi_find_export_env: set NVALCHEMI_EXPORT_PYTHON and the NVALCHEMI_EXPORT_*_PYTHON of each further
# family where these environments are there already; make none.
nvalchemi_find_export_env() {
    local python cache name family variable
    cache=$(nvalchemi_cache_dir)
    if [ -z "${NVALCHEMI_EXPORT_PYTHON:-}" ]; then
        python=$(nvalchemi_python_for_export 2>/dev/null) || return 0
        name=$(nvalchemi_export_name "${python}")
        nvalchemi_environment_is_complete "${cache}/${name}" || return 0
        export NVALCHEMI_EXPORT_PYTHON="${cache}/${name}/bin/python3"
    fi
    for family in "${nvalchemi_export_families[@]}"; do
        variable=$(nvalchemi_export_variable "${family}")
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

# --- further families -----------------------------------------------------------------------------------

nvalchemi_export_families=(mace nequip orb)

# What an environment must import to be usable, and what it costs, for people.
declare -A nvalchemi_family_import=([mace]='torch, mace.calculators' [nequip]='torch, nequip.integrations.ase, allegro'
    [orb]='torch, orb_models.forcefield.calculator')
declare -A nvalchemi_family_size=([mace]='20 MB, 60 MB on disk' [nequip]='10 MB, 45 MB on disk'
    [orb]='30 MB, 110 MB on disk')

# nvalchemi_export_variable FAMILY: print the name of the variable that holds the family's Python.
nvalchemi_export_variable() { printf 'NVALCHEMI_EXPORT_%s_PYTHON\n' "${1^^}"; }

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

# nvalchemi_fill_family FOLDER: install the packages of ${nvalchemi_family}. They come before those of the other
# environment, which are found through the .pth file. That a package which is not imported here, such as sevenn,
# finds another version than it asks for, is no conflict to warn of.
nvalchemi_fill_family() {
    nvalchemi_site_of_torch >"$(echo "$1"/lib/python3*/site-packages)/torch_of_another_environment.pth"
    nvalchemi_pip "$1/bin/python3" install --no-compile --no-warn-conflicts \
        -r "${nvalchemi_setup_dir}/requirements-export-${nvalchemi_family}.txt"
    TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 "$1/bin/python3" -c "import ${nvalchemi_family_import[${nvalchemi_family}]}" \
        >/dev/null 2>&1 || nvalchemi_fail "torch and ${nvalchemi_family} do not import in $1"
}

# nvalchemi_family_env FAMILY: make or reuse the environment that exports its models, and first the one whose
# torch it takes. Sets NVALCHEMI_EXPORT_<FAMILY>_PYTHON; one that the user has set is used as it is.
nvalchemi_family_env() {
    local nvalchemi_family=$1 variable cache name
    variable=$(nvalchemi_export_variable "$1")
    if [ -n "${!variable:-}" ]; then
        nvalchemi_say "using ${variable}=${!variable}"
        return 0
    fi
    cache=$(nvalchemi_cache_dir)
    nvalchemi_export_env
    name=$(nvalchemi_family_name "$1")
    nvalchemi_environment_is_complete "${cache}/${name}" ||
        nvalchemi_say "the packages of $1, without torch: a download of about ${nvalchemi_family_size[$1]}, made once"
    nvalchemi_with_lock "${cache}/${name}.lock" nvalchemi_make_environment \
        "${cache}/${name}" "${NVALCHEMI_EXPORT_PYTHON}" 200 nvalchemi_fill_family
    export "${variable}=${cache}/${name}/bin/python3"
}

# nvalchemi_all_export_envs: the environments of all exporters.
nvalchemi_all_export_envs() {
    local family
    nvalchemi_export_env
    for family in "${nvalchemi_export_families[@]}"; do nvalchemi_family_env "${family}"; done
}
