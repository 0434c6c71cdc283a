// SPDX-License-Identifier: GPL-2.0-only
// What a strict reading refuses in operator and helper adapters, and the text of each refusal.
#include <gtest/gtest.h>

#include "unittest/spec/spec_texts.hpp"

namespace nvalchemi {

using testing::core_with;
using testing::helper_with;
using testing::op_with;
using testing::refusal_of_spec;

namespace {

std::string refusal_of_name(const std::string& op) {
    return refusal_of_spec(core_with("\"custom_ops\": [{\"op\": " + op + "}]"));
}

std::string refusal_of_position(const std::string& position) {
    return refusal_of_spec(
        op_with("\"arg_transforms\": {\"" + position + "\": {\"type\": \"slice_owned\"}}"));
}

std::string refusal_of_replacement(const std::string& replacement) {
    return refusal_of_spec(
        helper_with(R"("kind": "python", "module_path": "m", "attr_name": "f", "replacement": )" +
                    replacement));
}

}  // namespace

TEST(AdapterRefusals, NameOperatorsThatCannotBeRegistered) {
    const std::string where = "mlip_spec /core/custom_ops/0/op: got ";
    const std::string expected = ", expected an operator name \"<namespace>::<name>\"";
    const std::string characters =
        " (letters, digits and underscores on either side of one \"::\")";

    EXPECT_EQ(refusal_of_name("null"), where + "null" + expected);
    EXPECT_EQ(refusal_of_name("\"stage1\""),
              where + "\"stage1\"" + expected +
                  " (add the namespace that the operator is registered in)");
    EXPECT_EQ(refusal_of_name("\"demo::stage1.default\""),
              where + "\"demo::stage1.default\"" + expected +
                  " (an adapter is for the default overload: leave out the dot and what follows "
                  "it)");
    for (const std::string name : {"::a", "a::", "a::b::c", "a::b c", "1a::b", "a::\\u00e9"}) {
        EXPECT_NE(refusal_of_name("\"" + name + "\"").find(expected + characters),
                  std::string::npos)
            << name;
    }
    EXPECT_EQ(refusal_of_spec(core_with(R"("custom_ops": [{"arg_transforms": {}}])")),
              "mlip_spec /core/custom_ops/0: got no key \"op\", expected one (name the operator as "
              "\"<namespace>::<name>\")");
    EXPECT_EQ(refusal_of_name("\"aten::_a1\""), "(accepted)");
}

TEST(AdapterRefusals, NameMalformedLists) {
    EXPECT_EQ(refusal_of_spec(core_with(R"("custom_ops": {})")),
              "mlip_spec /core/custom_ops: got an empty object, expected an array of operator "
              "adapters");
    EXPECT_EQ(refusal_of_spec(core_with(R"("custom_ops": null)")),
              "mlip_spec /core/custom_ops: got null, expected an array of operator adapters (write "
              "[] for none)");
    EXPECT_EQ(refusal_of_spec(core_with(R"("custom_ops": ["a::b"])")),
              "mlip_spec /core/custom_ops/0: got \"a::b\", expected an object");
    EXPECT_EQ(refusal_of_spec(core_with(R"("third_party_helpers": null)")),
              "mlip_spec /core/third_party_helpers: got null, expected an array of helper adapters "
              "(write [] for none)");
    EXPECT_EQ(refusal_of_spec(op_with(R"("arg_transforms": [])")),
              "mlip_spec /core/custom_ops/0/arg_transforms: got an empty array, expected an object "
              "with a transform for each position");
    EXPECT_EQ(refusal_of_spec(op_with(R"("output_transforms": {"0": "all_reduce_sum"})")),
              "mlip_spec /core/custom_ops/0/output_transforms/0: got \"all_reduce_sum\", expected "
              "an object with \"type\"");
}

TEST(AdapterRefusals, NamePositionsThatAreNone) {
    const std::string where = "mlip_spec /core/custom_ops/0/arg_transforms/";
    const std::string expected =
        ", expected a whole number from 0 in plain digits (positions count from 0)";

    for (const std::string position :
         {"x", "-1", "01", "+1", " 1", "1_0", "1.0", "", "1e1", "-0", "1234567890", "\\u0661"}) {
        const std::string refusal = refusal_of_position(position);
        EXPECT_EQ(refusal.find(where), 0U) << refusal;
        EXPECT_NE(refusal.find(expected), std::string::npos) << refusal;
    }
    EXPECT_EQ(refusal_of_position("-1"), where + "-1: got the position \"-1\"" + expected);
    EXPECT_EQ(refusal_of_position("999999999"), "(accepted)");
}

TEST(AdapterRefusals, NameTransformsOnTheWrongSide) {
    const std::string inputs =
        R"(, expected one of "gather_inputs", "gather_inputs_full", "slice_owned")";
    const std::string outputs =
        R"(, expected one of "scatter_outputs", "all_reduce_sum", "slice_outputs_owned")";
    const std::string argument = "mlip_spec /core/custom_ops/0/arg_transforms/0";
    const std::string output = "mlip_spec /core/custom_ops/0/output_transforms/0";

    EXPECT_EQ(refusal_of_spec(op_with(R"("arg_transforms": {"0": {"type": "scatter_outputs"}})")),
              argument + "/type: got \"scatter_outputs\"" + inputs +
                  " (it belongs into \"output_transforms\")");
    EXPECT_EQ(refusal_of_spec(op_with(R"("output_transforms": {"0": {"type": "gather_inputs"}})")),
              output + "/type: got \"gather_inputs\"" + outputs +
                  " (it belongs into \"arg_transforms\")");
    EXPECT_EQ(refusal_of_spec(op_with(R"("output_transforms": {"0": {"type": "all_reduce_max"}})")),
              output + "/type: got \"all_reduce_max\"" + outputs);
    EXPECT_EQ(refusal_of_spec(op_with(R"("arg_transforms": {"0": {}})")),
              argument +
                  ": got no key \"type\", expected one (one of \"gather_inputs\", "
                  "\"gather_inputs_full\", \"slice_owned\")");
}

TEST(AdapterRefusals, NameFieldsThatATransformLacks) {
    EXPECT_EQ(
        refusal_of_spec(op_with(R"("arg_transforms": {"0": {"type": "slice_owned", "foo": 1}})")),
        "mlip_spec /core/custom_ops/0/arg_transforms/0/foo: got the unknown key \"foo\", expected "
        "only \"type\"");
    EXPECT_EQ(refusal_of_spec(op_with(
                  R"("output_transforms": {"0": {"type": "all_reduce_sum", "reduce": "max"}})")),
              "mlip_spec /core/custom_ops/0/output_transforms/0/reduce: got the unknown key "
              "\"reduce\", expected one of \"type\", \"replicated_consumer\"");
    EXPECT_EQ(
        refusal_of_spec(op_with(R"("output_transforms":
            {"0": {"type": "scatter_outputs", "replicated_consumer": false}})")),
        "mlip_spec /core/custom_ops/0/output_transforms/0/replicated_consumer: got the unknown key "
        "\"replicated_consumer\", expected only \"type\"");
    EXPECT_EQ(refusal_of_spec(op_with(R"("name": "x")")),
              "mlip_spec /core/custom_ops/0/name: got the unknown key \"name\", expected one of "
              "\"op\", \"arg_transforms\", \"output_transforms\" (remove it, or correct its "
              "spelling)");
}

TEST(AdapterRefusals, NameTransformsOfAnotherStorage) {
    const auto refusal = [](const std::string& side, const std::string& type,
                            const std::string& policy) {
        return refusal_of_spec(
            op_with("\"" + side + "\": {\"0\": {\"type\": \"" + type + "\"}}", policy));
    };
    const std::string argument = "mlip_spec /core/custom_ops/0/arg_transforms/0/type: got ";
    const std::string output = "mlip_spec /core/custom_ops/0/output_transforms/0/type: got ";

    EXPECT_EQ(refusal("arg_transforms", "gather_inputs_full", "halo"),
              argument +
                  "\"gather_inputs_full\", expected one of \"gather_inputs\", "
                  "\"slice_owned\" under policy \"halo\" (\"gather_inputs_full\" needs "
                  "policy \"graph_parallel\")");
    EXPECT_EQ(refusal("output_transforms", "slice_outputs_owned", "refresh_halo"),
              output +
                  "\"slice_outputs_owned\", expected one of \"scatter_outputs\", "
                  "\"all_reduce_sum\" under policy \"refresh_halo\" (\"slice_outputs_owned\" "
                  "needs policy \"graph_parallel\")");
    EXPECT_EQ(refusal("output_transforms", "all_reduce_sum", "graph_parallel"),
              output +
                  "\"all_reduce_sum\", expected \"slice_outputs_owned\" under policy "
                  "\"graph_parallel\" (\"all_reduce_sum\" needs policy \"halo\" or "
                  "\"refresh_halo\")");
    EXPECT_EQ(refusal("arg_transforms", "slice_owned", "local"),
              argument +
                  "\"slice_owned\", expected no transform under policy \"local\" "
                  "(\"slice_owned\" needs policy \"halo\" or \"refresh_halo\")");
}

TEST(AdapterRefusals, NameOperatorsWithTwoMeanings) {
    EXPECT_EQ(refusal_of_spec(core_with(R"("custom_ops": [{"op": "a::b"},
                  {"op": "a::b", "arg_transforms": {"0": {"type": "slice_owned"}}}])")),
              "mlip_spec /core/custom_ops/1: got operator \"a::b\" a second time with other "
              "transforms, expected each operator once (keep the right one of the two)");
}

TEST(AdapterRefusals, NameHelpersWithoutKind) {
    EXPECT_EQ(refusal_of_spec(helper_with(R"("op": "demo::stage1")")),
              "mlip_spec /core/third_party_helpers/0: got no key \"kind\", expected one (an "
              "adapter of an operator belongs into \"custom_ops\")");
    EXPECT_EQ(refusal_of_spec(helper_with(R"("module_path": "m")")),
              "mlip_spec /core/third_party_helpers/0: got no key \"kind\", expected one (one of "
              "\"jit\", \"python\", \"method\", \"module_forward\")");
    EXPECT_EQ(refusal_of_spec(helper_with(R"("kind": "cxx")")),
              "mlip_spec /core/third_party_helpers/0/kind: got \"cxx\", expected one of \"jit\", "
              "\"python\", \"method\", \"module_forward\"");
}

TEST(AdapterRefusals, NameMissingAndUnknownMembersOfHelpers) {
    const std::string where = "mlip_spec /core/third_party_helpers/0";

    EXPECT_EQ(refusal_of_spec(helper_with(R"("kind": "python", "module_path": "m")")),
              where +
                  ": got no key \"attr_name\", expected one (name the code that the adapter is "
                  "for)");
    EXPECT_EQ(refusal_of_spec(helper_with(R"("kind": "module_forward", "target": "m")")),
              where + ": got no key \"label\", expected one (any text)");
    EXPECT_EQ(
        refusal_of_spec(helper_with(R"("kind": "python", "module_path": "", "attr_name": "f")")),
        where + "/module_path: got \"\", expected a string that is not empty");
    EXPECT_EQ(refusal_of_spec(helper_with(
                  R"("kind": "python", "module_path": "m", "attr_name": "f", "mode": "eager")")),
              where +
                  "/mode: got the unknown key \"mode\", expected one of \"kind\", "
                  "\"module_path\", \"attr_name\", \"replacement\" (remove it, or correct its "
                  "spelling)");
    EXPECT_EQ(refusal_of_spec(helper_with(
                  R"("kind": "jit", "module_path": "m", "attr_name": "f", "mode": "wrap")")),
              where +
                  "/mode: got \"wrap\", expected one of \"marshal\", \"eager\" (anything else "
                  "has acted as \"eager\" so far: write that, or what was meant)");
}

TEST(AdapterRefusals, NameReplacementsThatBindToNothing) {
    const std::string where = "mlip_spec /core/third_party_helpers/0/replacement: got ";
    const std::string expected = ", expected \"module:qualname\", or null";

    EXPECT_EQ(refusal_of_replacement("3"), where + "3" + expected);
    for (const std::string closure : {"m:f.<locals>.g", "m:<lambda>"}) {
        EXPECT_EQ(refusal_of_replacement("\"" + closure + "\""),
                  where + "\"" + closure + "\"" + expected +
                      " (a closure or lambda cannot be found again: make it a function at module "
                      "level)");
    }
    for (const std::string name : {"m.f", "", ":f", "m:", "m:f:g", "m: f"}) {
        EXPECT_EQ(
            refusal_of_replacement("\"" + name + "\""),
            where + "\"" + name + "\"" + expected + " (one colon between module and function)");
    }
    EXPECT_EQ(refusal_of_replacement("\"m.n:C.f\""), "(accepted)");
}

}  // namespace nvalchemi
