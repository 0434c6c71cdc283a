// SPDX-License-Identifier: GPL-2.0-only
#error "a header of a CUDA toolkit: not on every machine, expected in *.cu and *.cuh alone"
