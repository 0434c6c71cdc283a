// SPDX-License-Identifier: GPL-2.0-only

#include "input_sources.h"

#include "model_graph.h"
#include "mpi_exchange.h"

#include "atom.h"
#include "compute.h"
#include "fix.h"
#include "input.h"
#include "modify.h"
#include "update.h"
#include "variable.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace LAMMPS_NS;
using nvalchemi::InputPlace;
using nvalchemi::InputSource;
using Kind = InputSource::Kind;

namespace {

constexpr char OF_ATOMS[] = "a number, q, d_NAME, i_NAME, d2_NAME[i], i2_NAME[i], v_NAME of style "
                            "atom, or c_ID, c_ID[i], f_ID, f_ID[i] with values of atoms";
constexpr char OF_SYSTEM[] = "a number, v_NAME of style equal, v_NAME[i] of style vector, or c_ID, "
                             "c_ID[i], f_ID, f_ID[i] with values of the system";

[[noreturn]] void refuse(const InputPlace &place, const InputSource &source,
                         const std::string &problem)
{
  throw std::runtime_error("keyword input " + place.name + ": " + source.text + ": " + problem);
}

// what a compute or fix has, in the same words for both

template <typename Source> void check_shape(const InputPlace &place, const InputSource &written,
                                            const Source &source, const std::string &what)
{
  const std::string number = std::to_string(written.index);
  if (place.per_atom) {
    if (!source.peratom_flag)
      refuse(place, written, "got a " + what + " without values of atoms, expected " + OF_ATOMS);
    const int columns = source.size_peratom_cols;
    if (written.index == 0 && columns > 0)
      refuse(place, written,
             "got " + std::to_string(columns) + " values of each atom, expected one; add [i]");
    if (written.index > columns)
      refuse(place, written,
             "got column " + number + " of " + std::to_string(columns) +
                 (columns ? ", expected one that exists" : ", expected no [i]"));
    return;
  }
  if (!(written.index == 0 ? source.scalar_flag : source.vector_flag))
    refuse(place, written,
           "got a " + what + " without a global " + (written.index == 0 ? "scalar" : "vector") +
               ", expected " + OF_SYSTEM);
  if (written.index > 0 && !source.size_vector_variable && written.index > source.size_vector)
    refuse(place, written,
           "got number " + number + " of " + std::to_string(source.size_vector) +
               ", expected one that exists");
}

template <typename Source> void copy_column(const InputPlace &place, const InputSource &written,
                                            const Source &source, std::vector<double> &column)
{
  const int nlocal = static_cast<int>(column.size());
  if (nlocal > 0 && !(written.index == 0 ? static_cast<const void *>(source.vector_atom)
                                         : static_cast<const void *>(source.array_atom)))
    refuse(place, written, "got no values yet, expected them before forces are computed");
  for (int i = 0; i < nlocal; ++i)
    column[i] =
        written.index == 0 ? source.vector_atom[i] : source.array_atom[i][written.index - 1];
}

bool needs_energies(const Compute &compute)
{
  return compute.peflag || compute.peatomflag || compute.pressflag || compute.pressatomflag;
}

}    // namespace

/* ---------------------------------------------------------------------- */

void InputSources::check_value(const InputPlace &place, const InputSource &source, double value,
                               const std::string &where) const
{
  if (!std::isfinite(value))
    refuse(place, source, "got " + std::to_string(value) + where + ", expected a finite number");
  if (is_single_ && !std::isfinite(static_cast<float>(value)))
    refuse(place, source,
           "got " + std::to_string(value) + where +
               ", expected a number that float32 holds, since the model computes in it");
  const std::string expected = place.is_integer ? nvalchemi::expected_whole(value) : "";
  if (!expected.empty())
    refuse(place, source,
           "got " + std::to_string(value) + where + ", expected " + expected +
               ", since the model takes integers");
}

/* ---------------------------------------------------------------------- */

InputSources::InputSources(LAMMPS *lmp) : Pointers(lmp) {}

/* ---------------------------------------------------------------------- */

void InputSources::declare(const nvalchemi::ModelCard &card,
                           const std::vector<nvalchemi::InputOption> &options)
{
  layout_ = nvalchemi::input_layout(card);
  is_single_ = card.dtype == "float32";
  bound_.clear();
  reads_atoms_ = gives_charges_ = varies_by_atom_ = false;
  const bool takes_charges = card.find_input(nvalchemi::InputRole::Charges) != nullptr;
  for (const auto &option : options)
    if (!layout_.find(option.name) && !(takes_charges && option.name == nvalchemi::kChargesName))
      throw std::runtime_error("keyword input: got '" + option.name +
                               "', expected an input of model '" + card.name +
                               "': " + nvalchemi::titles_of_inputs(card));
  for (const InputPlace &place : layout_.places) bind(place, options, card.name);
  for (const auto &option : options) {
    if (!takes_charges || option.name != nvalchemi::kChargesName) continue;
    bind({{nvalchemi::kChargesName, 1, false, "e", {}}, true, 0}, options, card.name);
    bound_.back().is_charges = gives_charges_ = true;
  }
}

/* ---------------------------------------------------------------------- */

void InputSources::bind(const InputPlace &place, const std::vector<nvalchemi::InputOption> &options,
                        const std::string &model)
{
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto &option) { return option.name == place.name; });
  std::string sources;
  for (std::int64_t column = 0; column < std::min<std::int64_t>(place.columns, 3); ++column)
    sources += " SOURCE";
  if (place.columns > 3) sources += " ... (" + std::to_string(place.columns) + " of them)";
  if (found == options.end()) {
    if (place.default_values.empty())
      throw std::runtime_error("model '" + model + "' takes the input " + place.title() +
                               ", which has no source. Write 'pair_style nvalchemi input " +
                               place.name + sources + "', each " +
                               (place.per_atom ? OF_ATOMS : OF_SYSTEM));
    bound_.push_back({place, {}, false});
    return;
  }
  if (static_cast<std::int64_t>(found->sources.size()) != place.columns)
    throw std::runtime_error("keyword input " + place.name + ": got " +
                             std::to_string(found->sources.size()) + " source" +
                             (found->sources.size() == 1 ? "" : "s") + ", expected " +
                             std::to_string(place.columns) + " for " + place.title());
  for (const InputSource &source : found->sources) {
    const bool atoms_alone = source.kind == Kind::Charge || source.kind == Kind::Property;
    if (!place.per_atom && atoms_alone)
      refuse(place, source, std::string("got a property of atoms, expected ") + OF_SYSTEM);
    if (source.kind == Kind::Number) check_value(place, source, source.number, "");
    reads_atoms_ |= source.kind != Kind::Number;
    varies_by_atom_ |= place.per_atom && source.kind != Kind::Number;
  }
  bound_.push_back({place, found->sources, false});
}

/* ---------------------------------------------------------------------- */

void InputSources::look_up()
{
  for (const Bound &bound : bound_)
    for (const InputSource &source : bound.sources) check(bound, source);
}

/* ---------------------------------------------------------------------- */

int InputSources::variable_of(const Bound &bound, const InputSource &source) const
{
  const int variable = input->variable->find(source.name.c_str());
  if (variable < 0)
    refuse(bound.place, source,
           "got no variable '" + source.name + "', expected one; define it before the run");
  return variable;
}

/* ---------------------------------------------------------------------- */

void InputSources::check(const Bound &bound, const InputSource &source) const
{
  const InputPlace &place = bound.place;
  if (source.kind == Kind::Charge && !atom->q_flag)
    refuse(place, source,
           std::string("got atom_style ") + atom->atom_style + ", expected one with charges");
  if (source.kind == Kind::Property) {
    int is_double = 0, columns = 0;
    const int found = atom->find_custom(source.name.c_str(), is_double, columns);
    if (found < 0 || is_double == source.is_integer || (columns > 0) != source.has_columns ||
        source.index > columns)
      refuse(place, source,
             "got no such property of atoms, expected one that fix property/atom has added");
  } else if (source.kind == Kind::Variable) {
    const int variable = variable_of(bound, source);
    const bool fits = place.per_atom ? source.index == 0 && input->variable->atomstyle(variable)
                      : source.index == 0 ? input->variable->equalstyle(variable)
                                          : input->variable->vectorstyle(variable);
    if (!fits)
      refuse(place, source,
             std::string("got a variable of another style, expected ") +
                 (place.per_atom ? OF_ATOMS : OF_SYSTEM));
  } else if (source.kind == Kind::Compute) {
    const Compute *compute = modify->get_compute_by_id(source.name);
    if (!compute)
      refuse(place, source,
             "got no compute '" + source.name + "', expected one; define it before the run");
    if (needs_energies(*compute)) refuse_own_energies(bound, source);
    check_shape(place, source, *compute, "compute");
  } else if (source.kind == Kind::Fix) {
    const Fix *fix = modify->get_fix_by_id(source.name);
    if (!fix)
      refuse(place, source,
             "got no fix '" + source.name + "', expected one; define it before the run");
    check_shape(place, source, *fix, "fix");
  }
}

/* ---------------------------------------------------------------------- */

Compute *InputSources::compute_of(const Bound &bound, const InputSource &source) const
{
  Compute *compute = modify->get_compute_by_id(source.name);
  if (!compute->is_initialized())
    refuse(bound.place, source,
           "got a compute that has not been set up, expected one from before; leave out 'pre no'");
  return compute;
}

/* ---------------------------------------------------------------------- */

void InputSources::refuse_own_energies_in(const Bound &bound, const InputSource &source) const
{
  for (const Compute *compute : modify->get_compute_list())
    if (compute->invoked_flag && needs_energies(*compute)) refuse_own_energies(bound, source);
}

/* ---------------------------------------------------------------------- */

void InputSources::refuse_own_energies(const Bound &bound, const InputSource &source) const
{
  refuse(bound.place, source,
         "got energies or a pressure of this step, expected what is known before forces are "
         "computed; fix ave/time or fix ave/atom can hand on those of an earlier step");
}

/* ---------------------------------------------------------------------- */

double InputSources::of_system(const Bound &bound, const InputSource &source) const
{
  const int at = source.index - 1;
  if (source.kind == Kind::Number) return source.number;
  if (source.kind == Kind::Variable) {
    const int variable = variable_of(bound, source);
    if (source.index == 0) return input->variable->compute_equal(variable);
    double *values = nullptr;
    const int count = input->variable->compute_vector(variable, &values);
    if (source.index > count)
      refuse(bound.place, source,
             "got a vector of " + std::to_string(count) + ", expected a number of it");
    return values[at];
  }
  if (source.kind == Kind::Compute) {
    Compute *compute = compute_of(bound, source);
    const int mine = source.index == 0 ? Compute::INVOKED_SCALAR : Compute::INVOKED_VECTOR;
    if (!(compute->invoked_flag & mine)) {
      source.index == 0 ? static_cast<void>(compute->compute_scalar()) : compute->compute_vector();
      compute->invoked_flag |= mine;
    }
    if (source.index > 0 && source.index > compute->size_vector)
      refuse(bound.place, source,
             "got a vector of " + std::to_string(compute->size_vector) +
                 ", expected a number of it");
    return source.index == 0 ? compute->scalar : compute->vector[at];
  }
  Fix *fix = modify->get_fix_by_id(source.name);
  if (fix->global_freq > 0 && update->ntimestep % fix->global_freq)
    refuse(bound.place, source,
           "got a fix with values every " + std::to_string(fix->global_freq) +
               " steps, expected them at every step");
  if (source.index > 0 && source.index > fix->size_vector)
    refuse(bound.place, source,
           "got a vector of " + std::to_string(fix->size_vector) + ", expected a number of it");
  return source.index == 0 ? fix->compute_scalar() : fix->compute_vector(at);
}

/* ----------------------------------------------------------------------
   fills column_
------------------------------------------------------------------------- */

void InputSources::of_atoms(const Bound &bound, const InputSource &source)
{
  const int nlocal = atom->nlocal;
  column_.resize(nlocal);
  if (source.kind == Kind::Number) {
    std::fill(column_.begin(), column_.end(), source.number);
  } else if (source.kind == Kind::Charge) {
    std::copy_n(atom->q, nlocal, column_.begin());
  } else if (source.kind == Kind::Property) {
    int is_double = 0, columns = 0;
    const int found = atom->find_custom(source.name.c_str(), is_double, columns);
    const int at = source.index - 1;
    for (int i = 0; i < nlocal; ++i)
      column_[i] =
          source.has_columns
              ? (is_double ? atom->darray[found][i][at] : double(atom->iarray[found][i][at]))
              : (is_double ? atom->dvector[found][i] : double(atom->ivector[found][i]));
  } else if (source.kind == Kind::Variable) {
    input->variable->compute_atom(variable_of(bound, source), 0, column_.data(), 1, 0);
  } else if (source.kind == Kind::Compute) {
    Compute *compute = compute_of(bound, source);
    if (!(compute->invoked_flag & Compute::INVOKED_PERATOM)) {
      compute->compute_peratom();
      compute->invoked_flag |= Compute::INVOKED_PERATOM;
    }
    copy_column(bound.place, source, *compute, column_);
  } else {
    const Fix *fix = modify->get_fix_by_id(source.name);
    if (fix->peratom_freq > 0 && update->ntimestep % fix->peratom_freq)
      refuse(bound.place, source,
             "got a fix with values every " + std::to_string(fix->peratom_freq) +
                 " steps, expected them at every step");
    copy_column(bound.place, source, *fix, column_);
  }
}

/* ----------------------------------------------------------------------
   LAMMPS sets computes up after the first forces of a run: temperatures
   have no degrees of freedom, or those of the run before, until then.
   Dynamic groups come first, as they do there.
------------------------------------------------------------------------- */

void InputSources::set_up_computes() const
{
  for (Fix *fix : modify->get_fix_list())
    if (std::strcmp(fix->style, "GROUP") == 0) fix->setup(0);
  for (Compute *compute : modify->get_compute_list())
    if (compute->tempflag) compute->setup();    // chunks that are found once may need forces
}

/* ---------------------------------------------------------------------- */

void InputSources::evaluate(ModelGraph &graph)
{
  nvalchemi::GivenInputs &given = graph.given();
  const std::int64_t rows = graph.n_rows();
  given.columns = layout_.atom_columns;
  given.atoms.resize(rows * given.columns);
  given.system.resize(layout_.system_columns);
  given.has_charges = gives_charges_;
  given.charges.resize(gives_charges_ ? rows : 0);

  if (reads_atoms_ && update->setupflag) set_up_computes();

  // as all who use computes do: they are invoked again, with the atoms where they are now

  if (reads_atoms_) modify->clearstep_compute();
  std::string problem;
  for (const Bound &bound : bound_)
    for (std::int64_t column = 0; column < bound.place.columns; ++column) {
      try {
        fill(bound, column, graph);
      } catch (const std::runtime_error &refusal) {

        // go on: other ranks may be about to call the next compute, which all ranks have to

        if (problem.empty()) problem = refusal.what();
      }
    }
  if (reads_atoms_) modify->addstep_compute(update->ntimestep + 1);
  if (!problem.empty()) throw std::runtime_error(problem);
}

/* ---------------------------------------------------------------------- */

void InputSources::fill(const Bound &bound, std::int64_t column, ModelGraph &graph)
{
  nvalchemi::GivenInputs &given = graph.given();
  const InputPlace &place = bound.place;
  const InputSource source = bound.sources.empty() ? InputSource() : bound.sources[column];
  const bool is_number = source.kind == Kind::Number;
  const double number = bound.sources.empty() ? place.default_values[column] : source.number;
  if (!place.per_atom) {
    double &value = given.system[place.first + column];
    if (!is_number) check(bound, source);    // it may have gone since the run's set-up
    value = is_number ? number : of_system(bound, source);
    if (!is_number) refuse_own_energies_in(bound, source);
    check_value(place, source, value, "");
    return;
  }
  double *const values =
      bound.is_charges ? given.charges.data() : given.atoms.data() + place.first + column;
  const std::int64_t stride = bound.is_charges ? 1 : given.columns;
  if (is_number) {
    for (std::int64_t row = 0; row < graph.n_rows(); ++row) values[row * stride] = number;
    return;
  }
  check(bound, source);    // as above
  of_atoms(bound, source);
  refuse_own_energies_in(bound, source);
  for (std::int64_t row = 0; row < graph.n_owned(); ++row) {
    const int i = graph.atom_of_row(row);
    values[row * stride] = column_[i];
    check_value(place, source, column_[i],
                " for atom " + std::to_string(atom->tag ? atom->tag[i] : i + 1));
  }
}

/* ----------------------------------------------------------------------
   what is of the system is the same on all ranks, whoever computed it
------------------------------------------------------------------------- */

void InputSources::spread(ModelGraph &graph, nvalchemi::MpiExchange &exchange) const
{
  nvalchemi::GivenInputs &given = graph.given();
  const std::int64_t rows = graph.n_rows();
  if (reads_atoms_ && !given.system.empty())
    MPI_Bcast(given.system.data(), static_cast<int>(given.system.size()), MPI_DOUBLE, 0, world);
  if (!varies_by_atom_) return;
  if (given.columns > 0)
    exchange.forward(
        {given.atoms.data(), rows, given.columns, nvalchemi::ElementType::Float64, -1});
  if (given.has_charges)
    exchange.forward({given.charges.data(), rows, 1, nvalchemi::ElementType::Float64, -1});
}

/* ---------------------------------------------------------------------- */

std::string InputSources::describe() const
{
  std::string text;
  for (const Bound &bound : bound_) {
    if (bound.sources.empty() && bound.place.name == nvalchemi::kTotalChargeName) continue;
    text += "nvalchemi: input " + bound.place.title() + " from";
    for (const InputSource &source : bound.sources) text += " " + source.text;
    text += bound.sources.empty() ? " the card's default\n" : "\n";
  }
  return text;
}
