// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

struct KindOf {
    const char* operator()(const JitAdapter&) const { return "jit"; }
    const char* operator()(const PythonAdapter&) const { return "python"; }
    const char* operator()(const MethodAdapter&) const { return "method"; }
    const char* operator()(const ModuleForward&) const { return "module_forward"; }
};

struct TargetOf {
    std::string operator()(const JitAdapter& helper) const {
        return helper.module_path + "." + helper.attr_name;
    }
    std::string operator()(const PythonAdapter& helper) const {
        return helper.module_path + "." + helper.attr_name;
    }
    std::string operator()(const MethodAdapter& helper) const {
        return helper.module_path + "." + helper.class_name + "." + helper.method_name;
    }
    std::string operator()(const ModuleForward& helper) const { return helper.target; }
};

}  // namespace

const char* kind_of(const HelperAdapter& helper) { return std::visit(KindOf{}, helper); }

std::string target_of(const HelperAdapter& helper) { return std::visit(TargetOf{}, helper); }

bool is_bindable_replacement(const std::string& replacement) {
    // Angle brackets occur in the names of closures and lambdas only: "f.<locals>.g", "<lambda>".
    if (replacement.find_first_of("<> \t\r\n\f\v") != std::string::npos) return false;
    const std::size_t colon = replacement.find(':');
    return colon != std::string::npos && colon > 0 && colon + 1 < replacement.size() &&
           replacement.find(':', colon + 1) == std::string::npos;
}

}  // namespace nvalchemi
