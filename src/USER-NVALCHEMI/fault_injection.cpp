// SPDX-License-Identifier: GPL-2.0-only

#include "fault_injection.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace nvalchemi {

namespace {

using Kind = ExchangeFault::Kind;

// a fault, and for those of the exchange the kind and the calls that it strikes unless told

constexpr struct {
  const char *name;
  Fault fault;
  Kind kind = Kind::DropForward;
  int nth = ExchangeFault::kAll;
} KNOWN[] = {
    {"drop_forward", Fault::Exchange, Kind::DropForward, 0},
    {"drop_later_forward", Fault::Exchange, Kind::DropForward, ExchangeFault::kLater},
    {"forget_last_row", Fault::Exchange, Kind::ForgetLastRow},
    {"swap_halo_rows", Fault::Exchange, Kind::SwapRows},
    {"half_columns", Fault::Exchange, Kind::HalfOfColumns},
    {"add_forward", Fault::Exchange, Kind::AddInForward},
    {"stale_forward", Fault::Exchange, Kind::StaleForward},
    {"stale_step", Fault::Exchange, Kind::StaleStep},
    {"round_rows", Fault::Exchange, Kind::RoundForward},
    {"skip_reverse", Fault::Exchange, Kind::DropReverse},
    {"negate_reverse", Fault::Exchange, Kind::NegateReverse},
    {"no_zero_reverse", Fault::Exchange, Kind::DoubleReverse},
    {"keep_halo_rows", Fault::Exchange, Kind::KeepHaloRows},
    {"round_reverse", Fault::Exchange, Kind::RoundReverse},
    {"correct_twice", Fault::Exchange, Kind::FoldTwice},
    {"skip_sum", Fault::Exchange, Kind::DropSum},
    {"double_sum", Fault::Exchange, Kind::DoubleSum},
    {"wrong_owner", Fault::WrongOwner},
    {"wrong_last_owner", Fault::WrongLastOwner},
    {"swap_rows", Fault::SwapRows},
    {"swap_ghost_rows", Fault::SwapHaloRows},
    {"swap_edges", Fault::SwapEdges},
    {"lose_edge", Fault::LoseEdge},
    {"repeat_edge", Fault::RepeatEdge},
    {"shift_image", Fault::ShiftImage},
    {"wrong_sender", Fault::WrongSender},
    {"mix_outputs", Fault::MixOutputs},
    {"swap_energies", Fault::SwapEnergies},
    {"round_results", Fault::RoundResults},
    {"stale_results", Fault::StaleResults},
    {"fail_in_check", Fault::FailInCheck},
    {"wrong_layout", Fault::WrongLayout},
    {"die_in_load", Fault::DieInLoad},
    {"die_in_rows", Fault::DieInRows},
    {"die_in_model", Fault::DieInModel},
    {"die_in_exchange", Fault::Exchange, Kind::Die, 1},
    {"die_in_check", Fault::DieInCheck},
};

[[noreturn]] void refuse(const std::string &word)
{
  std::string names;
  for (const auto &known : KNOWN) names += (names.empty() ? "" : ", ") + std::string(known.name);
  throw std::runtime_error("environment variable NVALCHEMI_FAULT: got '" + word +
                           "', expected NAME, NAME#CALL or NAME@RANK, several joined by +, with a "
                           "NAME among " +
                           names + ". Unset it for a correct run");
}

void round_all(std::vector<double> &values)
{
  for (double &value : values) value = static_cast<float>(value);
}

void mix(std::map<std::string, Evaluation::Extra> &extras)
{
  for (auto &[key, output] : extras) {
    auto &values = output.values;
    if (!output.per_node)
      for (double &value : values) value += 1.0;
    else if (!values.empty())
      std::rotate(values.begin(), values.begin() + output.width, values.end());
  }
}

void copy_edge(const FaultyEdges &edges, std::int64_t from, std::int64_t to)
{
  edges.receiver[to] = edges.receiver[from];
  edges.sender[to] = edges.sender[from];
  edges.sender_atom[to] = edges.sender_atom[from];
  std::copy_n(edges.vector + 3 * from, 3, edges.vector + 3 * to);
}

}    // namespace

/* ---------------------------------------------------------------------- */

Faults Faults::from_environment()
{
  static const std::regex FORM("([a-z_]+)(#([1-9][0-9]*))?(@([0-9]+))?");
  const char *value = std::getenv("NVALCHEMI_FAULT");
  Faults faults;
  if (!value || !*value) return faults;
  faults.text_ = value;
  std::istringstream words(faults.text_);
  for (std::string word; std::getline(words, word, '+');) {
    std::smatch parts;
    const bool formed = std::regex_match(word, parts, FORM);
    const auto known = std::find_if(std::begin(KNOWN), std::end(KNOWN), [&](const auto &one) {
      return formed && parts[1].str() == one.name;
    });
    if (known == std::end(KNOWN) || (parts[3].matched && known->fault != Fault::Exchange))
      refuse(word);
    const int rank = parts[5].matched ? std::atoi(parts[5].str().c_str()) : -1;
    const int nth = parts[3].matched ? std::atoi(parts[3].str().c_str()) - 1 : known->nth;
    faults.planted_.push_back({known->fault, {known->kind, nth, rank}, rank});
  }
  return faults;
}

/* ---------------------------------------------------------------------- */

bool Faults::has(Fault fault, int rank) const
{
  return std::any_of(planted_.begin(), planted_.end(), [&](const Planted &one) {
    return one.fault == fault && (one.rank < 0 || one.rank == rank);
  });
}

/* ---------------------------------------------------------------------- */

std::vector<ExchangeFault> Faults::of_exchange() const
{
  std::vector<ExchangeFault> found;
  for (const Planted &one : planted_)
    if (one.fault == Fault::Exchange) found.push_back(one.in_exchange);
  return found;
}

/* ---------------------------------------------------------------------- */

void plant_in(HaloPlan &plan, const Faults &faults, int rank)
{
  auto &sent = plan.send_rows;
  if (sent.empty()) return;
  if (faults.has(Fault::WrongOwner, rank)) sent.front() = (sent.front() + 1) % plan.owned_rows;
  if (faults.has(Fault::WrongLastOwner, rank)) sent.back() = (sent.back() + 1) % plan.owned_rows;
  if (faults.has(Fault::SwapRows, rank)) std::swap(sent.front(), sent.back());
}

/* ---------------------------------------------------------------------- */

void plant_in(HaloRows &rows, const Faults &faults, int rank)
{
  plant_in(rows.plan, faults, rank);
  if (!faults.has(Fault::SwapHaloRows, rank)) return;
  const auto first = rows.plan.owned_rows, last = rows.plan.total_rows - 1;
  for (auto &row : rows.row_of_ghost)
    if (row >= first && (row == first || row == last)) row = first + last - row;
}

/* ---------------------------------------------------------------------- */

void plant_in(const FaultyEdges &edges, const Faults &faults, int rank)
{
  std::int64_t &count = *edges.n_edges;
  const auto first = edges.n_owned, last = edges.n_rows - 1;
  const bool turns = faults.has(Fault::SwapEdges, rank);
  const bool shifts = faults.has(Fault::ShiftImage, rank) && first <= last;
  const bool misreads = faults.has(Fault::WrongSender, rank);
  for (std::int64_t edge = 0; edge < count; ++edge) {
    auto &sender = edges.sender[edge];
    if (sender < first) continue;
    for (int k = 0; k < 3; ++k) {
      double &component = edges.vector[3 * edge + k];
      if (turns) component = -component;
      if (shifts && sender == first) component += edges.cell[k];
    }
    if (misreads && sender == last) sender = first;
  }
  if (shifts)
    for (int k = 0; k < 3; ++k) edges.position[3 * first + k] += edges.cell[k];
  if (faults.has(Fault::RepeatEdge, rank) && count > 1) copy_edge(edges, count - 2, count - 1);
  if (faults.has(Fault::LoseEdge, rank) && count > 0) --count;
}

/* ---------------------------------------------------------------------- */

void plant_in(Evaluation &evaluation, const Faults &faults, int rank, Evaluation &before)
{
  auto &energies = evaluation.atomic_energies;
  if (faults.has(Fault::SwapEnergies, rank))
    for (std::size_t row = 1; row < energies.size(); row += 20)
      std::swap(energies[row - 1], energies[row]);
  if (faults.has(Fault::MixOutputs, rank)) mix(evaluation.extras);
  if (faults.has(Fault::RoundResults, rank))
    for (auto *values : {&energies, &evaluation.edge_gradients, &evaluation.row_forces})
      round_all(*values);
  if (faults.has(Fault::StaleResults, rank)) {
    std::swap(before.atomic_energies, energies);
    if (energies.size() != before.atomic_energies.size()) energies = before.atomic_energies;
  }
}

/* ---------------------------------------------------------------------- */

void die_if(const Faults &faults, Fault here, int rank, int time)
{
  static int met = 0;
  if (faults.has(here, rank) && ++met == time) std::raise(SIGKILL);
}

}    // namespace nvalchemi
