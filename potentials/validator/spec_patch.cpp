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
