# SPDX-License-Identifier: GPL-2.0-only
# What must come from the system's own package manager. Sourced by environment.sh.

# Every program that a script of this repository calls, with its package on Debian and what it is needed for:
#   essential  any script; Debian and its relatives always have them
#   python     making environments
#   build      building the package
#   test       testing it
# The packages that are not essential are the line of prerequisites in README.md.
nvalchemi_programs='
awk         mawk          essential
basename    coreutils     essential
bash        bash          essential
cat         coreutils     essential
cp          coreutils     essential
cut         coreutils     essential
date        coreutils     essential
df          coreutils     essential
dirname     coreutils     essential
env         coreutils     essential
find        findutils     essential
flock       util-linux    essential
grep        grep          essential
head        coreutils     essential
id          coreutils     essential
ln          coreutils     essential
ls          coreutils     essential
mkdir       coreutils     essential
mktemp      coreutils     essential
mv          coreutils     essential
nproc       coreutils     essential
paste       coreutils     essential
rm          coreutils     essential
sed         sed           essential
sh          dash          essential
sha256sum   coreutils     essential
sort        coreutils     essential
tail        coreutils     essential
timeout     coreutils     essential
touch       coreutils     essential
tr          coreutils     essential
uniq        coreutils     essential
wc          coreutils     essential
git         git           test
g++         g++           build
cmake       cmake         build
ctest       cmake         test
make|ninja  make          build
python3     python3-venv  python
'

NVALCHEMI_PYTHON=${NVALCHEMI_PYTHON:-python3}
nvalchemi_missing_packages=()
nvalchemi_missing_reasons=()

# nvalchemi_need PACKAGE REASON: note a package that has to be installed.
nvalchemi_need() {
    [[ " ${nvalchemi_missing_packages[*]} " == *" $1 "* ]] || nvalchemi_missing_packages+=("$1")
    nvalchemi_missing_reasons+=("$2")
}

# nvalchemi_version_at_least FOUND MINIMUM: dotted numbers compared as versions.
nvalchemi_version_at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort --version-sort | head -n 1)" = "$2" ]
}

# nvalchemi_check_program PROGRAM[|PROGRAM...] PACKAGE: one of them is enough.
nvalchemi_check_program() {
    local program
    for program in ${1//|/ }; do
        ! command -v "${program}" >/dev/null || return 0
    done
    nvalchemi_need "$2" "${1//|/ or } is not on the path"
}

nvalchemi_check_compiler() {
    local compiler=${CXX:-g++} version
    if ! command -v "${compiler}" >/dev/null; then
        nvalchemi_need g++ "C++ compiler: '${compiler}' is not on the path, expected g++ 12 or later"
        return 0
    fi
    version=$("${compiler}" -dumpfullversion 2>/dev/null || echo 0)
    if "${compiler}" --version | grep -qiE '^(g\+\+|gcc|c\+\+)' && ! nvalchemi_version_at_least "${version}" 12; then
        nvalchemi_need g++-12 "C++ compiler: '${compiler}' is version ${version}, expected 12 or later (then set CXX=g++-12)"
    fi
}

nvalchemi_check_cmake() {
    local version
    if ! command -v cmake >/dev/null; then
        nvalchemi_need cmake "cmake is not on the path, expected 3.22 or later"
        return 0
    fi
    version=$(cmake --version | sed -n '1s/^cmake version \([0-9.]*\).*/\1/p')
    nvalchemi_version_at_least "${version}" 3.22 || nvalchemi_need cmake "cmake is version ${version}, expected 3.22 or later"
}

nvalchemi_check_python() {
    local version
    if ! command -v "${NVALCHEMI_PYTHON}" >/dev/null; then
        nvalchemi_need python3-venv "Python: '${NVALCHEMI_PYTHON}' is not on the path, expected 3.11 or later"
        return 0
    fi
    version=$("${NVALCHEMI_PYTHON}" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if ! nvalchemi_version_at_least "${version}" 3.11; then
        nvalchemi_need python3.11-venv "Python: '${NVALCHEMI_PYTHON}' is ${version}, expected 3.11 or later (or set NVALCHEMI_PYTHON)"
    elif ! "${NVALCHEMI_PYTHON}" -I -c 'import venv, ensurepip' 2>/dev/null; then
        nvalchemi_need "python${version}-venv" "Python ${version} cannot make virtual environments (venv and ensurepip are missing)"
    fi
}

# nvalchemi_check_system_packages PURPOSE...: stop, with the one line to run, unless all that the table above lists for
# these purposes is there, and essential programs. Looks only; installs nothing.
nvalchemi_check_system_packages() {
    local program package purpose
    nvalchemi_missing_packages=()
    nvalchemi_missing_reasons=()
    while read -r program package purpose; do
        [[ " essential $* " == *" ${purpose:-none} "* ]] || continue
        case "${program}" in
            g++) nvalchemi_check_compiler ;;
            cmake) nvalchemi_check_cmake ;;
            python3) nvalchemi_check_python ;;
            *) nvalchemi_check_program "${program}" "${package}" ;;
        esac
    done <<<"${nvalchemi_programs}"
    if [ "${#nvalchemi_missing_packages[@]}" -gt 0 ]; then
        local sudo="sudo "
        [ "${EUID}" -ne 0 ] || sudo=""
        nvalchemi_fail "system packages are missing:" "${nvalchemi_missing_reasons[@]}" \
            "On Debian and its relatives run:" \
            "    ${sudo}apt-get update && ${sudo}apt-get install -y ${nvalchemi_missing_packages[*]}"
    fi
}
