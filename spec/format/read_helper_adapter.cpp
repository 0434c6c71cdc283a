// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/read_helper_adapter.hpp"

#include "spec/format/read_values.hpp"
#include "spec/format_names.hpp"

namespace nvalchemi {

namespace {

std::string read_member(const JsonCursor& adapter, const std::string& key, const Doubts& doubts) {
    return read_text(adapter.at(key, "name the code that the adapter is for"), doubts);
}

std::optional<std::string> read_replacement(const JsonCursor& adapter, const Doubts& doubts) {
    const auto replacement = adapter.find("replacement");
    if (!replacement || replacement->is_null()) return std::nullopt;
    const std::string expected = "\"module:qualname\", or null";
    if (!replacement->is_string()) replacement->refuse(expected);
    const std::string& text = replacement->as_string();
    if (!is_bindable_replacement(text)) {
        const bool is_closure = text.find('<') != std::string::npos;
        doubts.raise(*replacement,
                     replacement->mismatch(
                         expected, is_closure ? "a closure or lambda cannot be found again: make "
                                                "it a function at module level"
                                              : "one colon between module and function"),
                     "kept, but it binds to nothing");
    }
    return text;
}

/// "mode" of an adapter: `plain`, which is the default, or "marshal".
bool read_marshal(const JsonCursor& adapter, const char* plain, const Doubts& doubts) {
    const std::array<NamedValue<bool>, 2> modes = {{{"marshal", true}, {plain, false}}};
    const auto mode = adapter.find("mode");
    return mode && read_mode(*mode, modes, doubts);
}

HelperAdapter read_jit(const JsonCursor& adapter, const Doubts& doubts) {
    doubts.raise_unknown_keys(adapter, {"kind", "module_path", "attr_name", "replacement", "mode"});
    return JitAdapter{read_member(adapter, "module_path", doubts),
                      read_member(adapter, "attr_name", doubts), read_replacement(adapter, doubts),
                      read_marshal(adapter, "eager", doubts)};
}

HelperAdapter read_python(const JsonCursor& adapter, const Doubts& doubts) {
    doubts.raise_unknown_keys(adapter, {"kind", "module_path", "attr_name", "replacement"});
    return PythonAdapter{read_member(adapter, "module_path", doubts),
                         read_member(adapter, "attr_name", doubts),
                         read_replacement(adapter, doubts)};
}

HelperAdapter read_method(const JsonCursor& adapter, const Doubts& doubts) {
    doubts.raise_unknown_keys(
        adapter, {"kind", "module_path", "class_name", "method_name", "replacement", "mode"});
    return MethodAdapter{read_member(adapter, "module_path", doubts),
                         read_member(adapter, "class_name", doubts),
                         read_member(adapter, "method_name", doubts),
                         read_replacement(adapter, doubts), read_marshal(adapter, "wrap", doubts)};
}

HelperAdapter read_module_forward(const JsonCursor& adapter, const Doubts& doubts) {
    doubts.raise_unknown_keys(adapter, {"kind", "target", "label"});
    return ModuleForward{read_member(adapter, "target", doubts),
                         adapter.at("label", "any text").as_string()};
}

using Reader = HelperAdapter (*)(const JsonCursor&, const Doubts&);

constexpr std::array<NamedValue<Reader>, 4> kReaders = {{
    {"jit", read_jit},
    {"python", read_python},
    {"method", read_method},
    {"module_forward", read_module_forward},
}};

}  // namespace

HelperAdapter read_helper_adapter(const JsonCursor& adapter, const Doubts& doubts) {
    const JsonCursor kind = adapter.at(
        "kind", adapter.find("op") ? "an adapter of an operator belongs into \"custom_ops\""
                                   : "one of " + quoted_list(names_in(kReaders)));
    return kind.as_one_of(kReaders)(adapter, doubts);
}

}  // namespace nvalchemi
