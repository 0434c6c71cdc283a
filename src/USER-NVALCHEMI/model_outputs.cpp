// SPDX-License-Identifier: GPL-2.0-only

#include "model_outputs.h"

#include "atom.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

using namespace LAMMPS_NS;

namespace {

const std::string ENERGY = "energy";
const std::string FLAG = "_flag";

bool is_further_output(nvalchemi::OutputRole role)
{
  return role == nvalchemi::OutputRole::Charges || role == nvalchemi::OutputRole::Other;
}

/* ----------------------------------------------------------------------
   the entry of a name at the address that it had before, or a new one
------------------------------------------------------------------------- */

template <typename Entry> Entry &take_or_add(std::map<std::string, Entry> &now,
                                             std::map<std::string, Entry> &before,
                                             const std::string &name)
{
  auto entry = before.extract(name);
  return entry ? now.insert(std::move(entry)).position->second : now[name];
}

/* ---------------------------------------------------------------------- */

bool all_finite(const std::vector<double> &values)
{
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

}    // namespace

/* ---------------------------------------------------------------------- */

void ModelOutputs::declare(const nvalchemi::ModelCard &card)
{
  // a model that is read again leaves outputs of the same name where fix pair has found them, and
  // requested

  auto per_atom_before = std::exchange(per_atom_, {});
  auto global_before = std::exchange(global_, {});
  global_step_ = -1;
  atoms_.reset();
  added_.clear();
  const auto of_atoms = [&](const std::string &name) -> PerAtom & {
    PerAtom &output = take_or_add(per_atom_, per_atom_before, name);
    output.values.clear();
    output.pointers.clear();
    output.width = 1;
    output.step = -1;
    return output;
  };
  for (const nvalchemi::OutputSpec &output : card.outputs) {
    if (output.role == nvalchemi::OutputRole::AtomicEnergies) {
      of_atoms(ENERGY);
      energies_key_ = output.key;
    } else if (!is_further_output(output.role)) {
      added_.insert(output.key);
    }
    if (!is_further_output(output.role)) continue;
    std::int64_t width = 1;
    if (output.kind == nvalchemi::OutputKind::PerNode) {
      for (std::size_t k = 1; k < output.shape.size(); ++k) width *= output.shape[k];
      of_atoms(output.key).width = width;
    } else {
      for (const std::int64_t extent : output.shape) width *= extent;
      take_or_add(global_, global_before, output.key).assign(std::max<std::int64_t>(width, 1), 0.0);
    }
  }
}

/* ----------------------------------------------------------------------
   fix pair wants 0, not 1, for a vector
------------------------------------------------------------------------- */

void *ModelOutputs::find_per_atom(const std::string &name, int &columns)
{
  const auto found = per_atom_.find(name);
  columns = 0;
  if (found == per_atom_.end()) return nullptr;
  PerAtom &output = found->second;
  output.requested = true;
  if (output.width == 1) return output.values.empty() ? nullptr : output.values.data();
  columns = static_cast<int>(output.width);
  return output.pointers.empty() ? nullptr : output.pointers.data();
}

/* ---------------------------------------------------------------------- */

void *ModelOutputs::find_global(const std::string &name, int &dimension)
{
  const auto found = global_.find(name);
  if (found != global_.end()) {
    dimension = found->second.size() == 1 ? 0 : 1;
    read_.insert(name);
    return found->second.data();
  }
  if (name.size() <= FLAG.size() || name.substr(name.size() - FLAG.size()) != FLAG) return nullptr;
  const auto flagged = per_atom_.find(name.substr(0, name.size() - FLAG.size()));
  if (flagged == per_atom_.end()) return nullptr;
  dimension = 0;
  return &flagged->second.trigger;
}

/* ---------------------------------------------------------------------- */

std::optional<StoredOutput> ModelOutputs::request(const std::string &name)
{
  const auto global = global_.find(name);
  if (global != global_.end()) {
    read_.insert(name);
    const auto width = static_cast<std::int64_t>(global->second.size());
    return StoredOutput{false, width, global_step_, global->second};
  }
  auto found = per_atom_.find(name);
  if (found == per_atom_.end() && name == energies_key_) found = per_atom_.find(ENERGY);
  if (found == per_atom_.end()) return std::nullopt;
  PerAtom &output = found->second;
  output.requested = true;
  return StoredOutput{true, output.width, output.step, output.values};
}

/* ---------------------------------------------------------------------- */

std::string ModelOutputs::names() const
{
  std::string text;
  const auto add = [&](const std::string &name) { text += (text.empty() ? "" : ", ") + name; };
  for (const auto &[name, output] : per_atom_) add(name);
  for (const auto &[name, values] : global_) add(name);
  return text;
}

/* ---------------------------------------------------------------------- */

bool ModelOutputs::wants_energies() const
{
  const auto found = per_atom_.find(ENERGY);
  return found != per_atom_.end() && found->second.requested;
}

/* ---------------------------------------------------------------------- */

void ModelOutputs::forget()
{
  global_step_ = -1;
  for (auto &[name, output] : per_atom_) output.step = -1;
}

/* ---------------------------------------------------------------------- */

void ModelOutputs::store(const ModelGraph &graph, const nvalchemi::Evaluation &evaluation,
                         std::int64_t step, int nlocal, double energy_per_ev)
{
  global_step_ = step;
  for (auto &[name, output] : per_atom_) {
    if (!output.requested) continue;
    output.step = step;
    const auto extra = evaluation.extras.find(name);
    if (extra != evaluation.extras.end())
      store_one(name, output, graph, extra->second.values, nlocal, 1.0);
    else if (name == ENERGY)
      store_one(name, output, graph, evaluation.atomic_energies, nlocal, energy_per_ev);
  }
  for (auto &[name, values] : global_) {
    const auto extra = evaluation.extras.find(name);
    if (extra == evaluation.extras.end()) continue;

    // copied into place: LAMMPS keeps the address

    if (extra->second.values.size() != values.size())
      throw std::runtime_error("output '" + name + "': got " +
                               std::to_string(extra->second.values.size()) + " values, expected " +
                               std::to_string(values.size()) + " as the model card says");
    if (read_.count(name) && !all_finite(extra->second.values))
      throw std::runtime_error("output '" + name +
                               "' is not finite. Look for what the model "
                               "divides by, or do not ask for it");
    std::copy(extra->second.values.begin(), extra->second.values.end(), values.begin());
  }
}

/* ---------------------------------------------------------------------- */

void ModelOutputs::store_one(const std::string &name, PerAtom &output, const ModelGraph &graph,
                             const std::vector<double> &rows, int nlocal, double factor)
{
  const std::int64_t width = output.width;
  if (static_cast<std::int64_t>(rows.size()) != graph.n_owned() * width)
    throw std::runtime_error("per-atom output '" + name + "': got " + std::to_string(rows.size()) +
                             " values for " + std::to_string(graph.n_owned()) +
                             " atoms, expected a width of " + std::to_string(width) +
                             " as the model card says");
  if (!all_finite(rows))
    throw std::runtime_error("per-atom output '" + name +
                             "' is not finite. Look for what the model " +
                             "divides by, or do not ask for it");
  output.values.assign(nlocal * width, 0.0);
  output.pointers.resize(nlocal);
  for (int i = 0; i < nlocal; ++i) output.pointers[i] = output.values.data() + i * width;
  for (std::int64_t row = 0; row < graph.n_owned(); ++row)
    for (std::int64_t k = 0; k < width; ++k)
      output.values[graph.atom_of_row(row) * width + k] = factor * rows[row * width + k];
}

/* ---------------------------------------------------------------------- */

bool ModelOutputs::is_requested() const
{
  return !read_.empty() || std::any_of(per_atom_.begin(), per_atom_.end(),
                                       [](const auto &entry) { return entry.second.requested; });
}

/* ---------------------------------------------------------------------- */

bool ModelOutputs::Atoms::operator==(const Atoms &other) const
{
  return tags == other.tags && types == other.types && charges == other.charges;
}

/* ----------------------------------------------------------------------
   without ids there is nothing to compare of them
------------------------------------------------------------------------- */

ModelOutputs::Atoms ModelOutputs::atoms_of(const Atom &atom) const
{
  const auto copy = [&](const auto *values) {
    using Value = std::decay_t<decltype(*values)>;
    return values ? std::vector<Value>(values, values + atom.nlocal) : std::vector<Value>();
  };
  return {copy(atom.tag), copy(atom.type), copy(reads_charges_ ? atom.q : nullptr)};
}

/* ---------------------------------------------------------------------- */

void ModelOutputs::remember(const Atom &atom, bool reads_charges)
{
  reads_charges_ = reads_charges;
  atoms_.reset();
  if (is_requested()) atoms_ = atoms_of(atom);
}

/* ---------------------------------------------------------------------- */

bool ModelOutputs::remembers(const Atom &atom) const
{
  return !atoms_ || *atoms_ == atoms_of(atom);
}

/* ---------------------------------------------------------------------- */

double ModelOutputs::memory_usage() const
{
  double bytes = 0.0;
  if (atoms_)
    bytes += double(atoms_->tags.capacity()) * sizeof(tagint) +
             double(atoms_->types.capacity()) * sizeof(int) +
             double(atoms_->charges.capacity()) * sizeof(double);
  for (const auto &[name, output] : per_atom_)
    bytes += double(output.values.capacity()) * sizeof(double) +
             double(output.pointers.capacity()) * sizeof(double *);
  return bytes;
}
