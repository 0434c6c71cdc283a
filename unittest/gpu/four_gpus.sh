#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Several GPUs of one host, such as `lmp -k on g 4`, in one call: scaling, parity of 4 ranks, exchanges beside raw NCCL,
# by NCCL and by host staging. Uses as many GPUs as there are.
#
#   bash unittest/gpu/four_gpus.sh ARCHIVE [FOLDER]
#
# ARCHIVE knows Na and Cl (SevenNet-0 in float32); numbers and plots go to FOLDER (default: .). What runs is said by
# NVALCHEMI_PLUGIN, NVALCHEMI_KOKKOS_LAMMPS, NVALCHEMI_MPIEXEC and NVALCHEMI_TEST_MODELS, as in unittest/gpu/run.sh; programs
# gpu_exchange and exchange_time are looked for in lib/ of NVALCHEMI_BUILD_DIR.
set -euo pipefail

archive=$1
folder=${2:-.}
here=$(dirname "${BASH_SOURCE[0]}")
python=${NVALCHEMI_PYTHON:-python3}
mpiexec=${NVALCHEMI_MPIEXEC:-mpiexec}
programs=${NVALCHEMI_BUILD_DIR:-${here}/../../build-gpu}/lib
status=0

nvidia-smi -L
options=()
[ ! -x "${programs}/exchange_time" ] || options+=(--exchange-time "${programs}/exchange_time")
"${python}" "${here}/../benchmark/measure_gpu.py" --archive "${archive}" --output "${folder}/several_gpus.json" \
    "${options[@]}" several exchange parity || status=1
# rows of NCCL and of host staging, bit by bit
if [ -x "${programs}/gpu_exchange" ]; then
    for ranks in 2 4; do "${mpiexec}" -n "${ranks}" "${programs}/gpu_exchange" || status=1; done
fi
"${python}" "${here}/../benchmark/plot_gpu.py" "${folder}/several_gpus.json" "${folder}" || status=1
exit "${status}"
