// SPDX-License-Identifier: GPL-2.0-only
// The forward of a composition as TorchScript text, and the tables that it reads.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "potentials/card/card_shape.hpp"
#include "potentials/composition/compose_cards.hpp"
#include "potentials/energy_unit.hpp"

namespace nvalchemi {

namespace {

/// torch's numbers of data types, as TorchScript text writes them.
int dtype_number(const std::string& dtype) { return dtype == "float32" ? 6 : 7; }

std::string exact(double value) {
    std::ostringstream text;
    text.precision(17);
    text << value;
    const auto digits = text.str();
    return digits.find_first_of(".en") == std::string::npos ? digits + ".0" : digits;
}

class ForwardText {
  public:
    ForwardText(const std::vector<CompositionPart>& parts, const CommonFacts& facts,
                Composition& composition)
        : parts_(parts), facts_(facts), composition_(composition) {}

    std::string write() {
        line("def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:", 0);
        line("species = data[\"species\"]");
        line("edge_index = data[\"edge_index\"]");
        write_edge_vectors();
        edges_[exact(facts_.cutoff)] = "";
        // Whoever computes charges comes before those that read them, and who differentiates for
        // himself, and frees what he went through, before all others.
        for (const int turn : {0, 1, 2})
            for (std::size_t k = 0; k < parts_.size(); ++k)
                if (turn_of(k) == turn) call(k);
        add_up();
        if (facts_.forces == ForceSource::Model) add_forces();
        line("return sums");
        return text_.str();
    }

  private:
    void line(const std::string& text, int indent = 1) {
        text_ << std::string(4 * static_cast<std::size_t>(indent), ' ') << text << "\n";
    }

    bool any_part(bool (*test)(const ModelCard&)) const {
        return std::any_of(parts_.begin(), parts_.end(),
                           [test](const auto& part) { return test(part.card); });
    }

    /// The composition differentiates some of its parts, and returns a virial.
    bool strained() const {
        return facts_.forces == ForceSource::Model && facts_.virial &&
               any_part(+[](const ModelCard& card) { return card.forces != ForceSource::Model; });
    }

    int turn_of(std::size_t part) const {
        if (parts_[part].card.forces == ForceSource::Model) return 0;
        return facts_.charge_source == part ? 1 : 2;
    }

    void write_edge_vectors() {
        if (facts_.forces == ForceSource::EdgeVectors) {
            line("edge_vectors = data[\"edge_vectors\"]");
            return;
        }
        line("positions = data[\"positions\"]");
        line("sites = positions");
        line("shifts = data[\"edge_shifts\"]");
        if (strained()) {
            // All that scales with the cell does so by a strain of zero: what is differentiated
            // with respect to it is minus the virial.
            line(
                "strain = torch.zeros([3, 3], dtype=positions.dtype, "
                "device=positions.device).requires_grad_(True)");
            line("sites = positions + torch.matmul(positions, strain)");
            line("shifts = shifts + torch.matmul(shifts, strain)");
            if (any_part(strains))
                line("cell = data[\"cell\"] + torch.matmul(data[\"cell\"], strain)");
        }
        line(
            "edge_vectors = torch.index_select(sites, 0, edge_index[1]) - "
            "torch.index_select(sites, 0, edge_index[0]) + shifts");
    }

    /// Suffix of the variables that hold the edges within `cutoff`; they are written when they are
    /// asked for first, and shared by parts of one cutoff.
    std::string edges_within(double cutoff) {
        const auto known = edges_.find(exact(cutoff));
        if (known != edges_.end()) return known->second;
        if (edges_.size() == 1) line("squares = torch.sum(edge_vectors.detach().square(), [1])");
        const auto suffix = "_" + std::to_string(edges_.size());
        line("kept" + suffix + " = torch.nonzero(squares < " + exact(cutoff * cutoff) +
             ").squeeze(1)");
        line("edge_index" + suffix + " = torch.index_select(edge_index, 1, kept" + suffix + ")");
        line("edge_vectors" + suffix + " = torch.index_select(edge_vectors, 0, kept" + suffix +
             ")");
        return edges_[exact(cutoff)] = suffix;
    }

    /// A value that belongs to edges, in the part's direction and precision.
    std::string of_edges(const CompositionPart& part, const std::string& name,
                         const std::string& suffix) const {
        const auto value = part.card.receiver_row == 0 ? name + suffix : "(-" + name + suffix + ")";
        return in_precision(part, value);
    }

    std::string in_precision(const CompositionPart& part, const std::string& value) const {
        if (part.card.dtype == facts_.dtype) return value;
        return value + ".to(" + std::to_string(dtype_number(part.card.dtype)) + ")";
    }

    std::string add_table(CompositionTable table) {
        composition_.tables.push_back(std::move(table));
        return "self." + composition_.tables.back().name;
    }

    std::size_t place_in(const ModelCard& card, const std::string& symbol) const {
        return std::find(card.species.begin(), card.species.end(), symbol) - card.species.begin();
    }

    std::string species_index(const CompositionPart& part) {
        CompositionTable table{"species_of_" + part.name, {}, {}, "int64"};
        for (const auto& symbol : facts_.species)
            table.values.push_back(
                static_cast<double>(part.card.species_index[place_in(part.card, symbol)]));
        table.shape = {static_cast<std::int64_t>(table.values.size())};
        return "torch.index_select(" + add_table(table) + ", 0, species)";
    }

    /// Of two elements that share an index, both have its column.
    std::string one_hot(const CompositionPart& part) {
        const auto width = static_cast<std::int64_t>(part.card.species.size());
        CompositionTable table{"one_hot_of_" + part.name, {}, {}, part.card.dtype};
        for (const auto& symbol : facts_.species)
            for (std::int64_t column = 0; column < width; ++column)
                table.values.push_back(
                    part.card.species_index[place_in(part.card, symbol)] == column ? 1.0 : 0.0);
        table.shape = {static_cast<std::int64_t>(facts_.species.size()), width};
        return "torch.index_select(" + add_table(table) + ", 0, species)";
    }

    std::string constant(const CompositionPart& part, const InputSpec& input, std::size_t number) {
        const auto& value = *input.value;
        const auto shape = input.shape.value_or(value.shape);
        if (input.key.empty() && value.is_scalar && !input.shape) {
            if (value.kind == ElementKind::Boolean) return value.numbers[0] != 0 ? "True" : "False";
            if (value.kind == ElementKind::Integer)
                return std::to_string(static_cast<std::int64_t>(value.numbers[0]));
            return exact(value.numbers[0]);
        }
        const auto dtype = value.kind == ElementKind::Boolean   ? "bool"
                           : value.kind == ElementKind::Integer ? "int64"
                                                                : part.card.dtype;
        return add_table({"constant_" + std::to_string(number) + "_of_" + part.name, value.numbers,
                          shape, dtype});
    }

    std::string charges(const CompositionPart& part) const {
        if (!facts_.charge_source) return in_precision(part, "data[\"charges\"]");
        const auto& source = parts_[*facts_.charge_source];
        auto value = "torch.reshape(" + out(source, *source.card.find_output(OutputRole::Charges)) +
                     ", [-1])";
        if (source.card.dtype != part.card.dtype)
            value += ".to(" + std::to_string(dtype_number(part.card.dtype)) + ")";
        return value;
    }

    /// Slots of a table of neighbours that a part sees: those within its cutoff.
    std::string near_slots(const CompositionPart& part) {
        if (near_.insert(part.name).second)
            line("near_" + part.name +
                 " = torch.sum(data[\"neighbor_vectors\"].detach().square(), [2]) < " +
                 exact(part.card.cutoff * part.card.cutoff));
        return "near_" + part.name;
    }

    /// A slot beyond the part's cutoff is an empty one: a neighbour at the cutoff.
    std::string vector_table(const CompositionPart& part) {
        std::string vectors = "data[\"neighbor_vectors\"]";
        if (part.card.cutoff < facts_.cutoff)
            vectors =
                "torch.where(" + near_slots(part) + ".unsqueeze(-1), " + vectors + ", " +
                add_table(
                    {"empty_slot_of_" + part.name, {part.card.cutoff, 0, 0}, {3}, facts_.dtype}) +
                ")";
        return in_precision(part, part.card.receiver_row == 0 ? vectors : "(-" + vectors + ")");
    }

    std::string slot_mask(const CompositionPart& part) {
        std::string mask = "data[\"neighbor_mask\"]";
        if (part.card.cutoff < facts_.cutoff)
            mask = "(" + mask + " * " + near_slots(part) + ".to(" +
                   std::to_string(dtype_number(facts_.dtype)) + "))";
        return in_precision(part, mask);
    }

    static std::string outside(const InputSpec& input) {
        return "data[\"" + input_key(input) + "\"]";
    }

    std::string natural(const CompositionPart& part, const InputSpec& input,
                        const std::string& suffix, std::size_t number) {
        switch (input.role) {
            case InputRole::SpeciesIndex: return species_index(part);
            case InputRole::SpeciesOneHot: return one_hot(part);
            case InputRole::EdgeIndex: return edge_index(part, suffix);
            case InputRole::EdgeVectors:
                return is_vector_table(input) ? vector_table(part)
                                              : of_edges(part, "edge_vectors", suffix);
            case InputRole::NeighborMask: return slot_mask(part);
            case InputRole::EdgeShifts:
                return shifts(part, moves_with_rows(part.card) ? "shifts" : outside(input), suffix);
            case InputRole::EdgeCellShifts: return shifts(part, outside(input), suffix);
            case InputRole::Constant: return constant(part, input, number);
            case InputRole::Charges: return charges(part);
            case InputRole::Positions:
                return in_precision(
                    part, moves_with_rows(part.card) && facts_.forces != ForceSource::EdgeVectors
                              ? "sites"
                              : outside(input));
            case InputRole::Cell:
                return in_precision(part,
                                    strained() && strains(part.card) ? "cell" : outside(input));
            case InputRole::AtomInput:
            case InputRole::SystemInput:
                return input.named->is_integer ? outside(input)
                                               : in_precision(part, outside(input));
            case InputRole::SetupCell:
            case InputRole::OwnedMask:
            case InputRole::TotalCharge: return in_precision(part, outside(input));
            default: return outside(input);
        }
    }

    std::string edge_index(const CompositionPart& part, const std::string& suffix) const {
        const auto name = "edge_index" + suffix;
        if (part.card.receiver_row == 0) return name;
        return "torch.stack([" + name + "[1], " + name + "[0]])";
    }

    std::string shifts(const CompositionPart& part, const std::string& all,
                       const std::string& suffix) const {
        const auto own =
            suffix.empty() ? all : "torch.index_select(" + all + ", 0, kept" + suffix + ")";
        return in_precision(part, part.card.receiver_row == 0 ? own : "(-" + own + ")");
    }

    std::string shaped(const InputSpec& input, const std::string& value,
                       const std::string& suffix) const {
        if (!input.shape || input.role == InputRole::Constant) return value;
        const auto& shape = *input.shape;
        if (input.role == InputRole::EdgeIndex)
            return shape.size() == 2 && shape[0] == kEdgesDimension ? "torch.t(" + value + ")"
                                                                    : value;
        std::string extents;
        for (const auto extent : shape) {
            if (!extents.empty()) extents += ", ";
            extents += extent == kRowsDimension    ? "species.size(0)"
                       : extent == kEdgesDimension ? "edge_index" + suffix + ".size(1)"
                       : extent == kNeighborsDimension
                           ? std::string("data[\"neighbor_matrix\"].size(1)")
                           : std::to_string(extent);
        }
        return "torch.reshape(" + value + ", [" + extents + "])";
    }

    std::string in(const CompositionPart& part, const InputSpec& input, const std::string& suffix,
                   std::size_t number) {
        return shaped(input, natural(part, input, suffix, number), suffix);
    }

    /// An expression for an output of a part that has been called.
    std::string out(const CompositionPart& part, const OutputSpec& output) const {
        const auto name = "out_" + part.name;
        switch (part.returns) {
            case ReturnForm::Tensor: return name;
            case ReturnForm::Tuple: return name + "[" + output.key + "]";
            case ReturnForm::DictOfOptional:
                return "value_" + std::to_string(&output - part.card.outputs.data()) + "_" +
                       part.name;
            case ReturnForm::Dict: break;
        }
        return name + "[\"" + output.key + "\"]";
    }

    static bool takes_edge_list(const CompositionPart& part) {
        const auto inputs = inputs_of(part.card);
        return std::any_of(inputs.begin(), inputs.end(), [](const InputSpec* input) {
            return input->role == InputRole::EdgeIndex || input->role == InputRole::EdgeShifts ||
                   input->role == InputRole::EdgeCellShifts ||
                   (input->role == InputRole::EdgeVectors && !is_vector_table(*input));
        });
    }

    void call(std::size_t which) {
        const auto& part = parts_[which];
        const auto suffix = takes_edge_list(part) ? edges_within(part.card.cutoff) : "";
        std::string entries;
        std::size_t number = 0;
        for (const auto& input : part.card.inputs)
            entries += (entries.empty() ? "\"" : ", \"") + input.key +
                       "\": " + in(part, input, suffix, number++);
        const bool takes_dict = !part.card.inputs.empty();
        if (takes_dict) {
            line("in_" + part.name + ": Dict[str, Tensor] = {" + entries + "}");
        }
        std::string arguments = takes_dict && part.card.forward_takes_dict ? "in_" + part.name : "";
        for (const auto& argument : part.card.arguments) {
            if (!arguments.empty()) arguments += ", ";
            arguments += argument.role == InputRole::Dict ? "in_" + part.name
                                                          : in(part, argument, suffix, number++);
        }
        line("out_" + part.name + " = self." + part.name + ".forward(" + arguments + ")");
        if (part.returns != ReturnForm::DictOfOptional) return;
        for (const auto& output : part.card.outputs) {
            if (!is_handed_on(output) && !is_summed(part, output)) continue;
            line(out(part, output) + " = out_" + part.name + "[\"" + output.key + "\"]");
            line("assert " + out(part, output) + " is not None");
        }
    }

    static bool is_summed(const CompositionPart& part, const OutputSpec& output) {
        return part.card.forces == ForceSource::Model &&
               (output.role == OutputRole::Forces || output.role == OutputRole::Virial ||
                output.role == OutputRole::Stress);
    }

    /// The rows of a part's output that count: all, or the owned ones where a part may return no
    /// others.
    std::string rows_of(const std::string& value) const {
        return facts_.owned_rows ? "torch.narrow(" + value + ", 0, 0, int(data[\"n_owned\"]))"
                                 : value;
    }

    void add_up() {
        std::string sum;
        for (const auto& part : parts_) {
            const auto& output = *part.card.find_output(OutputRole::AtomicEnergies);
            line("energies_" + part.name + " = " +
                 in_ev(part, "torch.reshape(" + rows_of(out(part, output)) + ", [-1])"));
            sum += (sum.empty() ? "" : " + ") + std::string("energies_") + part.name;
        }
        line("sums: Dict[str, Tensor] = {\"atomic_energies\": " + sum + "}");
        for (const auto& part : parts_) {
            for (const auto& output : part.card.outputs) {
                if (!is_handed_on(output)) continue;
                const auto value = output.role == OutputRole::AtomicEnergies
                                       ? "energies_" + part.name
                                       : out(part, output);
                line("sums[\"" + output_key(part, output) + "\"] = " + value);
            }
        }
    }

    std::string in_ev(const CompositionPart& part, std::string value) const {
        if (part.card.dtype != facts_.dtype)
            value += ".to(" + std::to_string(dtype_number(facts_.dtype)) + ")";
        const double unit = ev_per_energy_unit(part.card);
        if (unit != 1.0) value += " * " + exact(unit);
        return value;
    }

    /// -dE/dstrain that a part returns, as a 3 x 3 matrix.
    std::string virial_of(const CompositionPart& part) const {
        const auto* virial = part.card.find_output(OutputRole::Virial);
        const auto& output = virial ? *virial : *part.card.find_output(OutputRole::Stress);
        const auto value = in_ev(part, "torch.reshape(" + out(part, output) + ", [3, 3])");
        const std::string sign = output.minus_dE_dstrain ? "" : "-";
        return sign + "(" + value + ")" + (virial ? "" : " * volume");
    }

    /// Subtracts the slope of that number from a sum.
    void differentiated(const std::string& name, int number, std::string& sum) {
        line("slope_of_" + name + " = slopes[" + std::to_string(number) + "]");
        line("assert slope_of_" + name + " is not None");
        sum += " - slope_of_" + name;
    }

    /// Forces and virials that parts return, and the derivatives of the other parts' energies: one
    /// gradient of their sum over this rank's atoms.
    void add_forces() {
        std::string energies, forces, virials;
        const auto add = [](std::string& sum, const std::string& term) {
            sum += (sum.empty() ? "" : " + ") + term;
        };
        if (facts_.needs_volume) line("volume = torch.abs(torch.det(data[\"cell\"]))");
        for (const auto& part : parts_) {
            if (part.card.forces != ForceSource::Model) {
                add(energies, "torch.sum(energies_" + part.name + ")");
                continue;
            }
            add(forces,
                "(" + in_ev(part, out(part, *part.card.find_output(OutputRole::Forces))) + ")");
            if (facts_.virial) add(virials, virial_of(part));
        }
        if (!energies.empty()) {
            const std::string strain = strained() ? ", strain" : "";
            line("slopes = torch.autograd.grad([" + energies + "], [positions" + strain + "])");
            differentiated("forces", 0, forces);
            if (strained()) differentiated("virial", 1, virials);
        }
        line("sums[\"forces\"] = " + forces);
        if (facts_.virial) line("sums[\"virial\"] = " + virials);
    }

    const std::vector<CompositionPart>& parts_;
    const CommonFacts& facts_;
    Composition& composition_;
    std::map<std::string, std::string> edges_;  ///< cutoff -> suffix
    std::set<std::string> near_;                ///< parts whose near_slots() are written
    std::ostringstream text_;
};

}  // namespace

Composition compose(const std::vector<CompositionPart>& parts, const std::string& name) {
    const auto facts = common_facts(parts);
    Composition composition;
    composition.card = compose_cards(parts, facts, name);
    composition.forward = ForwardText(parts, facts, composition).write();
    composition.wires_charges = facts.charge_source.has_value();
    return composition;
}

}  // namespace nvalchemi
