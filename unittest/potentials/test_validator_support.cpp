// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/potentials/test_validator_support.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "potentials/structure_file.hpp"
#include "unittest/models/test_archives.hpp"
#include "unittest/potentials/adapter_operators.hpp"

namespace nvalchemi::testing {

const std::string kLayer = "    h = h + torch.zeros_like(h).index_add(0, i, (h[j] @ self.w) * m)\n";
const std::string kPush = "    h = h + ops.adaptertest.push(h, i, j, m)\n";
const std::string kPull = "    h = h + ops.adaptertest.pull(h, i, j, m)\n";
const std::string kTotal = "    h = h * torch.cos(ops.adaptertest.total(h))\n";
const std::string kGate = "    h = ops.adaptertest.gate(h)\n";
const std::string kSenderSum = "    h = h + torch.zeros_like(h).index_add(0, j, h[i] * m)\n";
const std::string kSystemSum = "    h = h * torch.cos(h.sum())\n";

const std::string kScatter = R"("0": {"type": "scatter_outputs"})";
const std::string kReduce = R"("0": {"type": "all_reduce_sum"})";
const std::string kSlice = R"("0": {"type": "slice_owned"})";
const std::string kGather = R"("0": {"type": "gather_inputs"})";

const std::string kHelperAdapter =
    R"(, "third_party_helpers": [{"kind": "python", "module_path": "aimnet.nbops",
        "attr_name": "mol_sum", "replacement": "nvalchemi_lmp:system_sum"}])";

WholeSystem shaken_grid() {
    WholeSystem system;
    const double cell[9] = {16.5, 0.4, 0, 0.3, 11.0, -0.2, 0, 0.5, 11.2};
    std::copy_n(cell, 9, system.cell);
    std::mt19937 random(11);
    std::uniform_real_distribution<double> shake(-0.03, 0.03);
    for (int site = 0; site < 96; ++site) {
        const double fraction[3] = {(site % 6) / 6.0 + shake(random),
                                    (site / 6 % 4) / 4.0 + shake(random),
                                    (site / 24) / 4.0 + shake(random)};
        for (int axis = 0; axis < 3; ++axis)
            system.positions.push_back(fraction[0] * cell[axis] + fraction[1] * cell[3 + axis] +
                                       fraction[2] * cell[6 + axis]);
        system.species.push_back((site * site) % 3);
    }
    return system;
}

ValidationRequest scripted_request(const ScriptedModel& model, const std::string& core,
                                   const std::string& rest, const std::string& policy) {
    register_adapter_operators();
    ValidationRequest request;
    request.archive = scripted_archive(model);
    request.session.path = "network.pt";
    request.session.device = "cpu";
    request.session.card_path = "network.card.json";
    request.session.card_text =
        scripted_card("", R"(, "spec": {"version": 2, "core": {"policy": {)" + policy + "}" + core +
                              "}" + rest + "}");
    request.system = shaken_grid();
    return request;
}

ValidationRequest scripted_request(const std::string& body, const std::string& core,
                                   const std::string& rest, const std::string& policy) {
    return scripted_request(ScriptedModel{message_network(body), {}, {}}, core, rest, policy);
}

namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

ValidationRequest archive_request(const std::string& name, const std::string& structure) {
    const auto archive = test_archives().at(name);
    ValidationRequest request;
    request.archive = text_of(archive);
    request.session.path = name + ".pt";
    request.session.device = "cpu";
    request.session.card_path = name + ".card.json";
    request.session.card_text = text_of(card_beside(archive));
    request.system = read_structure_file(
        (archive.parent_path() / (structure + ".json")).string(),
        parse_model_card(*request.session.card_text, request.session.card_path));
    return request;
}

std::string adapter(const std::string& name, const std::string& arguments,
                    const std::string& outputs) {
    return R"({"op": "adaptertest::)" + name + R"(", "arg_transforms": {)" + arguments +
           R"(}, "output_transforms": {)" + outputs + "}}";
}

std::string with_ops(const std::vector<std::string>& adapters) {
    std::string text = R"(, "custom_ops": [)";
    for (const auto& one : adapters) text += (&one == &adapters[0] ? "" : ", ") + one;
    return text + "]";
}

std::string with_op(const std::string& name, const std::string& arguments,
                    const std::string& outputs) {
    return with_ops({adapter(name, arguments, outputs)});
}

ScriptedModel network_with_system_helper() {
    return {message_network(kLayer +
                            "    q = mol_sum(h, data['types'] * 0)\n"
                            "    h = h - torch.tanh(q[0]) * 0.01\n" +
                            kLayer),
            {{"aimnet.nbops", R"(
def mol_sum(x: Tensor, last: Tensor) -> Tensor:
    n = int(last[-1]) + 1
    return torch.zeros([n, x.size(1)], dtype=x.dtype).index_add(0, last, x)
)"}},
            {}};
}

std::function<std::unique_ptr<HaloExchange>(int, HaloExchange&)> faulty(
    const ExchangeFault& fault) {
    return [fault](int, HaloExchange& inner) -> std::unique_ptr<HaloExchange> {
        return std::make_unique<FaultyExchange>(inner, std::vector{fault});
    };
}

}  // namespace nvalchemi::testing
