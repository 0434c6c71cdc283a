// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_SPEC_SPEC_TEXTS_HPP
#define NVALCHEMI_UNITTEST_SPEC_SPEC_TEXTS_HPP

#include <string>
#include <vector>

#include "spec/parse_mlip_spec.hpp"
#include "unittest/spec/refusal.hpp"

namespace nvalchemi::testing {

/// A spec with `members` after the smallest valid one's.
inline std::string spec_with(const std::string& members) {
    return R"({"version": 2, "core": {"policy": {"kind": "halo"}}, )" + members + "}";
}

/// A spec with `members` after the policy in "core".
inline std::string core_with(const std::string& members, const std::string& kind = "halo") {
    return R"({"version": 2, "core": {"policy": {"kind": ")" + kind + "\"}, " + members + "}}";
}

/// A spec with `members` as its policy.
inline std::string policy_of(const std::string& members) {
    return R"({"version": 2, "core": {"policy": {)" + members + "}}}";
}

/// A spec with one operator adapter of demo::stage1 that has `members`.
inline std::string op_with(const std::string& members, const std::string& kind = "halo") {
    return core_with(R"("custom_ops": [{"op": "demo::stage1", )" + members + "}]", kind);
}

/// A spec with one helper adapter.
inline std::string helper_with(const std::string& members) {
    return core_with("\"third_party_helpers\": [{" + members + "}]");
}

/// The text of the strict refusal; "(accepted)" if there is none.
inline std::string refusal_of_spec(const std::string& text) {
    return refusal_of([&] { parse_mlip_spec(text); });
}

/// The text of the lenient refusal; "(accepted)" if there is none.
inline std::string lenient_refusal_of_spec(const std::string& text) {
    return refusal_of([&] { parse_mlip_spec(text, "mlip_spec", "", {true, nullptr}); });
}

/// What a lenient reading makes of a text.
struct LenientReading {
    MLIPSpec spec;
    std::vector<std::string> warnings;
};

inline LenientReading read_leniently(const std::string& text) {
    LenientReading result;
    result.spec = parse_mlip_spec(text, "mlip_spec", "", {true, &result.warnings});
    return result;
}

}  // namespace nvalchemi::testing

#endif
