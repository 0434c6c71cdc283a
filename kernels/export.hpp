// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_KERNELS_EXPORT_HPP
#define NVALCHEMI_KERNELS_EXPORT_HPP

/// Marks what libnvalchemi_kernels.so offers to other libraries; everything else in it is hidden.
#define NVALCHEMI_KERNELS_EXPORT __attribute__((visibility("default")))

#endif
