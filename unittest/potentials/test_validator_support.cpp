// SPDX-License-Identifier: GPL-2.0-only
#include "unittest/potentials/test_validator_support.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "potentials/structure_file.hpp"
#include "unittest/potentials/adapter_operators.hpp"
#include "unittest/spec/fixtures.hpp"

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

bool has_fixtures() { return fixtures_folder().has_value(); }

ValidationRequest fixture_request(const std::string& name, const std::string& structure) {
    const auto folder = *fixtures_folder() / "models";
    ValidationRequest request;
    request.archive = text_of(folder / (name + ".pt"));
    request.session.path = name + ".pt";
    request.session.device = "cpu";
    request.session.card_path = name + ".card.json";
    request.session.card_text = text_of(folder / (name + ".card.json"));
    request.system = read_structure_file(
        (folder / (structure + ".json")).string(),
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

namespace {

using Kind = ExchangeFault::Kind;

/// A block of rows as bytes, to be put back in part.
struct Copy {
    explicit Copy(const RowBlock& block) : row(block.row_bytes()), bytes(row * block.rows) {
        if (!bytes.empty()) std::memcpy(bytes.data(), block.data, bytes.size());
    }
    void restore(const RowBlock& block, std::int64_t first, std::int64_t count) const {
        if (count > 0)
            std::memcpy(static_cast<char*>(block.data) + first * row, bytes.data() + first * row,
                        count * row);
    }
    std::size_t row;
    std::vector<char> bytes;
};

class FaultyExchange final : public HaloExchange {
  public:
    FaultyExchange(const ExchangeFault& fault, int rank, HaloExchange& inner)
        : fault_(fault), rank_(rank), inner_(inner) {}

    std::int64_t owned_rows() const override { return inner_.owned_rows(); }
    std::int64_t total_rows() const override { return inner_.total_rows(); }
    int ranks() const override { return inner_.ranks(); }
    int rank() const override { return inner_.rank(); }

    void forward(const RowBlock& rows) override {
        const Copy before(rows);
        const auto owned = owned_rows(), halo = total_rows() - owned;
        const bool strikes = is_struck(forwards_++);
        inner_.forward(rows);
        const Copy after(rows);
        if (strikes) spoil_forward(rows, before, owned, halo);
        previous_.insert_or_assign(rows.width, after);
        if (strikes && fault_.kind == Kind::RepeatForward) inner_.forward(rows);
    }

    void reverse(const RowBlock& rows) override {
        const Copy before(rows);
        const auto owned = owned_rows(), halo = total_rows() - owned;
        const bool strikes = is_struck(reverses_++);
        auto* values = static_cast<double*>(rows.data);
        const auto scale_halo = [&](double factor) {
            for (auto k = owned * rows.width; k < (owned + halo) * rows.width; ++k)
                values[k] *= factor;
        };
        if (strikes && fault_.kind == Kind::DoubleReverse) scale_halo(2);
        if (strikes && fault_.kind == Kind::NegateReverse) scale_halo(-1);
        inner_.reverse(rows);
        if (strikes && fault_.kind == Kind::DropReverse) before.restore(rows, 0, owned + halo);
        if (strikes && fault_.kind == Kind::KeepHaloRows) before.restore(rows, owned, halo);
        if (strikes && fault_.kind == Kind::RoundReverse) round(rows);
        if (strikes && fault_.kind == Kind::RepeatReverse) inner_.reverse(rows);
    }

    void system_sum(const RowBlock& block) override {
        const Copy before(block);
        const bool strikes = is_struck(sums_++);
        inner_.system_sum(block);
        if (!strikes) return;
        auto* values = static_cast<double*>(block.data);
        const auto count = block.rows * block.width;
        if (fault_.kind == Kind::DropSum) before.restore(block, 0, block.rows);
        if (fault_.kind == Kind::DoubleSum)
            for (std::int64_t k = 0; k < count; ++k) values[k] *= 2;
    }

  private:
    bool is_struck(int call) const {
        return (fault_.nth < 0 || fault_.nth == call) && (fault_.rank < 0 || fault_.rank == rank_);
    }

    static void round(const RowBlock& rows) {
        if (rows.type != ElementType::Float64) return;
        auto* values = static_cast<double*>(rows.data);
        for (std::int64_t k = 0; k < rows.rows * rows.width; ++k)
            values[k] = static_cast<double>(static_cast<float>(values[k]));
    }

    void spoil_forward(const RowBlock& rows, const Copy& before, std::int64_t owned,
                       std::int64_t halo) {
        const auto width = rows.width;
        auto* values = static_cast<double*>(rows.data);
        switch (fault_.kind) {
            case Kind::DropForward: return before.restore(rows, owned, halo);
            case Kind::ForgetLastRow:
                return before.restore(rows, owned + halo - 1, halo > 0 ? 1 : 0);
            case Kind::RoundForward: return round(rows);
            case Kind::SwapRows:
                if (halo > 1)
                    std::swap_ranges(values + owned * width, values + (owned + 1) * width,
                                     values + (owned + 1) * width);
                return;
            case Kind::HalfOfColumns:
                for (auto row = owned; row < owned + halo; ++row)
                    for (auto k = (width + 1) / 2; k < width; ++k)
                        std::memcpy(values + row * width + k,
                                    before.bytes.data() + 8 * (row * width + k), 8);
                return;
            case Kind::AddInForward:
                for (auto k = owned * width; k < (owned + halo) * width; ++k) {
                    double old = 0;
                    std::memcpy(&old, before.bytes.data() + 8 * k, 8);
                    values[k] += old;
                }
                return;
            case Kind::StaleForward: {
                const auto found = previous_.find(width);
                if (found != previous_.end()) found->second.restore(rows, owned, halo);
                return;
            }
            default: return;
        }
    }

    ExchangeFault fault_;
    int rank_;
    HaloExchange& inner_;
    int forwards_ = 0, reverses_ = 0, sums_ = 0;
    std::map<std::int64_t, Copy> previous_;
};

}  // namespace

std::function<std::unique_ptr<HaloExchange>(int, HaloExchange&)> faulty(
    const ExchangeFault& fault) {
    return [fault](int rank, HaloExchange& inner) -> std::unique_ptr<HaloExchange> {
        return std::make_unique<FaultyExchange>(fault, rank, inner);
    };
}

}  // namespace nvalchemi::testing
