// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/validator/spec_patch.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "spec/parse_mlip_spec.hpp"
#include "spec/write_mlip_spec.hpp"

namespace nvalchemi {

std::string make_spec_patch(const MLIPSpec& from, const MLIPSpec& to) {
    using nlohmann::json;
    return json::diff(json::parse(write_mlip_spec(from)), json::parse(write_mlip_spec(to))).dump();
}

std::string make_text_patch(const std::string& text, const MLIPSpec& read, const MLIPSpec& to) {
    using nlohmann::json;
    const auto from = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (from.is_discarded()) return make_spec_patch(read, to);
    const auto target = json::parse(write_mlip_spec(to));
    auto patch = json::diff(from, target);
    // for diff() 2.0 is 2, which it is not for a reader of specs
    const auto reached = from.patch(patch);
    for (const auto& [key, value] : target.items())
        if (reached.at(key).dump() != value.dump())
            patch.push_back({{"op", "replace"}, {"path", "/" + key}, {"value", value}});
    if (patch.empty()) patch.push_back({{"op", "replace"}, {"path", ""}, {"value", target}});
    return patch.dump();
}

MLIPSpec apply_spec_patch(const MLIPSpec& spec, const std::string& patch) {
    using nlohmann::json;
    std::string text;
    try {
        text = json::parse(write_mlip_spec(spec)).patch(json::parse(patch)).dump();
    } catch (const json::exception& error) {
        throw std::runtime_error(std::string("spec patch: got one that does not apply: ") +
                                 error.what());
    }
    return parse_mlip_spec(text, "patched spec");
}

}  // namespace nvalchemi
