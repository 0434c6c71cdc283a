// SPDX-License-Identifier: GPL-2.0-only
// A library that is linked with the kernels as the plugin's glue is.
#include <exception>
#include <string>

#include "kernels/register_ops.hpp"

/// Registers the operators; returns the error's text, or an empty one.
extern "C" __attribute__((visibility("default"))) const char* client_register() {
    static std::string text;
    try {
        nvalchemi::register_operators();
        text.clear();
    } catch (const std::exception& error) {
        text = error.what();
    }
    return text.c_str();
}
