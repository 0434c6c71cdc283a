# SPDX-License-Identifier: GPL-2.0-only
# The virtual environments that export models: large, made on request, and looked up in the cache whenever an exporter
# runs, so that no build has to be told of them. Sourced by environment.sh and export_python.sh.
#
# sevenn needs e3nn 0.5 or later and mace-torch needs e3nn 0.4.4 exactly, so no environment can hold both. Each further
# family has a small environment of its own beside `export`, SevenNet's, from which it takes torch, nearly all of the
# download. Which there are stands in export_environments.txt.

: "${nvalchemi_setup_dir:?source environment.sh, which sources this file}"

# nvalchemi_export_names KIND: print the names in the rows of that kind, environment or family.
nvalchemi_export_names() {
    awk -F ' *[|] *' -v kind="$1" '$1 == kind { print $2 }' "${nvalchemi_setup_dir}/export_environments.txt"
}

# nvalchemi_export_fact KIND NAME COLUMN: print one field of the table.
nvalchemi_export_fact() {
    awk -F ' *[|] *' -v kind="$1" -v name="$2" -v column="$3" '$1 == kind && $2 == name { print $column }' \
        "${nvalchemi_setup_dir}/export_environments.txt"
}

nvalchemi_environment_of() { nvalchemi_export_fact family "$1" 3; }
nvalchemi_modules_of() { nvalchemi_export_fact family "$1" 4; }

# nvalchemi_modules_of_environment ENVIRONMENT: print all modules that its families import, with commas.
nvalchemi_modules_of_environment() {
    awk -F ' *[|] *' -v name="$1" '$1 == "family" && $3 == name { gsub(/ +/, ", ", $4); all = all sep $4; sep = ", " }
        END { print all }' "${nvalchemi_setup_dir}/export_environments.txt"
}

# nvalchemi_digest_of_export_env ENVIRONMENT BASE: print the digest of what it holds. BASE is the folder of `export`,
# or empty for `export` itself: another torch is another environment.
nvalchemi_digest_of_export_env() {
    local requirements="${nvalchemi_setup_dir}/requirements-$1.txt"
    if [ -z "$2" ]; then
        nvalchemi_digest "${requirements}"
    else
        nvalchemi_digest "${requirements}" <(nvalchemi_site_packages "$2")
    fi
}

nvalchemi_site_packages() { echo "$1"/lib/python3*/site-packages; }

# nvalchemi_find_export_env ENVIRONMENT: print the folder of the environment, made with whatever Python, if it is there.
nvalchemi_find_export_env() {
    local cache dir digest base=""
    cache=$(cd "$(nvalchemi_cache_name)" 2>/dev/null && pwd) || return 1
    [ "$1" = export ] || base=$(nvalchemi_find_export_env export) || return 1
    digest=$(nvalchemi_digest_of_export_env "$1" "${base}")
    for dir in "${cache}/$1"-py*-"${digest}"; do
        if nvalchemi_environment_is_complete "${dir}"; then
            echo "${dir}"
            return 0
        fi
    done
    return 1
}

# nvalchemi_missing_modules PYTHON FAMILY: print the packages that the family's exporter imports and PYTHON lacks;
# status 1 if PYTHON does not start.
nvalchemi_missing_modules() {
    local modules
    read -r -a modules <<<"$(nvalchemi_modules_of "$2")"
    "$1" -c 'import importlib.util, sys
names = dict.fromkeys(word.split(".")[0] for word in sys.argv[1:])
print(*(name for name in names if importlib.util.find_spec(name) is None))' "${modules[@]}" 2>/dev/null
}

# nvalchemi_say_what_is_missing ENVIRONMENT: one line for each environment that has to be made for it.
nvalchemi_say_what_is_missing() {
    local name
    for name in $(printf '%s\n' export "$1" | uniq); do
        nvalchemi_find_export_env "${name}" >/dev/null || nvalchemi_say "$(nvalchemi_export_fact environment "${name}" 3):" \
            "a download of $(nvalchemi_size_of "${name}"), made once"
    done
}

# nvalchemi_size_of ENVIRONMENT: for example, "20 MB, 60 MB on disk".
nvalchemi_size_of() {
    echo "$(nvalchemi_export_fact environment "$1" 4), $(nvalchemi_export_fact environment "$1" 5) on disk"
}

# --- making -----------------------------------------------------------------------------------------------

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

# nvalchemi_fill_export_env ENVIRONMENT BASE DIR: the packages of DIR come before those of BASE, which are found through
# the .pth file. That a package which is not imported here, such as sevenn, finds another version than it asks for, is
# no conflict to warn of.
nvalchemi_fill_export_env() {
    local name=$1 base=$2 dir=$3 options=() modules
    [ -z "${base}" ] ||
        nvalchemi_site_packages "${base}" >"$(nvalchemi_site_packages "${dir}")/torch_of_another_environment.pth"
    read -r -a options <<<"$(nvalchemi_export_fact environment "${name}" 7)"
    nvalchemi_pip "${dir}/bin/python3" install --no-compile --no-warn-conflicts "${options[@]}" \
        -r "${nvalchemi_setup_dir}/requirements-${name}.txt"
    modules=$(nvalchemi_modules_of_environment "${name}")
    TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 "${dir}/bin/python3" -c "import ${modules}" >/dev/null 2>&1 ||
        nvalchemi_fail "'import ${modules}' fails in ${dir}"
}

# nvalchemi_export_env [ENVIRONMENT]: make or reuse the environment (default: export), and first the one whose torch it
# takes. Sets nvalchemi_export_dir.
nvalchemi_export_env() {
    local name=${1:-export} cache python base=""
    if nvalchemi_export_dir=$(nvalchemi_find_export_env "${name}"); then
        nvalchemi_say "using ${nvalchemi_export_dir}"
        return 0
    fi
    nvalchemi_say_what_is_missing "${name}"
    if [ "${name}" = export ]; then
        python=$(nvalchemi_python_for_export)
    else
        nvalchemi_export_env export
        base=${nvalchemi_export_dir}
        python="${base}/bin/python3"
    fi
    cache=$(nvalchemi_cache_dir)
    nvalchemi_export_dir="${cache}/${name}-py$(nvalchemi_python_version "${python}")"
    nvalchemi_export_dir+="-$(nvalchemi_digest_of_export_env "${name}" "${base}")"
    nvalchemi_with_lock "${nvalchemi_export_dir}.lock" nvalchemi_make_environment "${nvalchemi_export_dir}" "${python}" \
        "$(nvalchemi_export_fact environment "${name}" 6)" nvalchemi_fill_export_env "${name}" "${base}"
}

# nvalchemi_all_export_envs: the environments of all exporters.
nvalchemi_all_export_envs() {
    local name
    for name in $(nvalchemi_export_names environment); do nvalchemi_export_env "${name}"; done
}
