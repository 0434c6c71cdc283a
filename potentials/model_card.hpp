// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_MODEL_CARD_HPP
#define NVALCHEMI_POTENTIALS_MODEL_CARD_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/mlip_spec.hpp"
#include "spec/read_options.hpp"

namespace nvalchemi {

/// What a model input carries. One enumerator for each role string of the card format.
enum class InputRole {
    SpeciesIndex,
    SpeciesOneHot,
    Positions,
    EdgeIndex,
    EdgeVectors,
    EdgeShifts,
    EdgeCellShifts,
    Cell,
    SetupCell,
    Batch,
    BatchPointer,
    NRows,
    NOwned,
    OwnedMask,
    Charges,
    TotalCharge,
    AtomInput,
    SystemInput,
    NeighborMatrix,
    NeighborMask,
    Constant,
    Dict,  ///< only in `forward.arguments`: the Dict[str, Tensor] of all `inputs`
};

enum class ElementKind { Floating, Integer, Boolean };

/// A constant of the card: a scalar or a nested array, flattened in row-major order.
struct ConstantValue {
    ElementKind kind = ElementKind::Floating;
    bool is_scalar = false;  ///< a JSON scalar (not an array)
    std::vector<double> numbers;
    std::vector<std::int64_t> shape;  ///< from the nesting; `InputSpec::shape` overrides it
};

/// What the user of a model gives, under a name: numbers of each atom (role atom_input) or of the
/// whole system (system_input), as many as `columns`.
struct NamedInput {
    std::string name;
    std::int64_t columns = 1;
    bool is_integer = false;             ///< the model takes int64, values are whole numbers
    std::string unit;                    ///< for messages; may be empty
    std::vector<double> default_values;  ///< (columns,); empty: the user has to give some
};

/// One model input. `shape`: empty optional = the natural shape of the role; a dimension of -1
/// stands for the number of rows ("rows"), -2 for the number of edges ("edges") and -3 for the
/// slots of a table of neighbours ("neighbors").
struct InputSpec {
    std::string key;  ///< empty for a positional argument
    InputRole role = InputRole::Constant;
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<ConstantValue> value;  ///< set exactly for InputRole::Constant
    std::optional<NamedInput> named;     ///< set exactly for AtomInput and SystemInput
    bool requires_grad = false;
};

enum class OutputRole { AtomicEnergies, Energy, Forces, Virial, Stress, Charges, Other };

struct OutputSpec {
    std::string key;
    OutputRole role = OutputRole::Other;
    OutputKind kind = OutputKind::Unknown;
    std::vector<std::int64_t> shape;  ///< -1: rows
    bool autograd = false;
    /// True when `sign` is "minus_dE_dstrain" (the default of role virial); false for
    /// "dE_dstrain" (with role stress: divided by the volume).
    bool minus_dE_dstrain = true;
};

enum class ForceSource { EdgeVectors, Positions, Model };
enum class RowMode { Folded, Raw };

/// A small structure with the numbers that the exporter computed, in float64.
struct ReferenceStructure {
    std::vector<std::string> symbols;
    std::vector<double> positions;  ///< (n, 3) Angstrom
    double cell[9] = {0};           ///< rows are lattice vectors, Angstrom
    bool periodic[3] = {true, true, true};
    std::vector<double> charges;  ///< (n,) in e; may be empty
    /// As in WholeSystem; empty where the model takes none.
    std::vector<double> atom_inputs, system_inputs;
    double energy = 0;
    std::vector<double> atomic_energies;  ///< may be empty
    std::vector<double> forces;           ///< (n, 3)
    std::vector<double> stress;           ///< 9 numbers, dE/dstrain / V; may be empty
};

/// The contract of a model archive: the extra file `nvalchemi.json`, or `NAME.card.json` beside it.
struct ModelCard {
    std::string name;
    std::string family;
    double cutoff = 0;        ///< in `length_unit`
    std::string length_unit;  ///< "Angstrom"
    std::string energy_unit;  ///< "eV" or "kcal/mol" or "Hartree"
    std::string dtype;        ///< "float32" or "float64"
    std::vector<std::string> species;
    std::vector<std::int64_t> species_index;  ///< index the model uses for each of `species`
    bool forward_takes_dict = true;           ///< forward.style "dict"
    std::vector<InputSpec> arguments;         ///< forward.arguments, for style "positional"
    std::vector<InputSpec> inputs;
    int receiver_row = 0;  ///< row of edge_index that holds receivers; the other holds senders
    RowMode rows = RowMode::Folded;
    std::vector<OutputSpec> outputs;
    ForceSource forces = ForceSource::EdgeVectors;
    std::vector<std::string> operator_libraries;
    std::optional<MLIPSpec> spec;
    std::optional<ReferenceStructure> reference;
    std::optional<std::int64_t> expected_exchanges;
    bool backward_communicates = false;
    /// Triplets of edges share their receiver (card key "triplets": "by_receiver").
    bool triplets_by_receiver = false;
    std::string torch_version;  ///< of the torch that wrote the archive; may be empty

    /// Of the whole system that is evaluated, in e. No key of the card: see SessionOptions.
    double total_charge = 0;

    /// The spec, or the preset SPEC_MPNN_HALO where the card has none.
    const MLIPSpec& distribution() const;
    const OutputSpec* find_output(OutputRole role) const;
    /// Among `inputs`, then `arguments`.
    const InputSpec* find_input(InputRole role) const;
};

/// Parse and validate a card. `document` names the source in messages (a path).
/// `spec_reading` applies to the distribution spec inside.
/// Throws SpecError with the JSON pointer, what was found, what was expected and what to do.
ModelCard parse_model_card(const std::string& json_text, const std::string& document,
                           const ReadOptions& spec_reading = {});

}  // namespace nvalchemi

#endif
