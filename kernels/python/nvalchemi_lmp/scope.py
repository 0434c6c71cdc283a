# SPDX-License-Identifier: GPL-2.0-only
"""Scopes of `system_sum`. A module, because TorchScript reads constants of modules only."""

OWNED = "owned"  # the owned rows of all ranks
LOCAL = "local"  # the owned rows of this rank alone
