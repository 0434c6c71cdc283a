// SPDX-License-Identifier: GPL-2.0-only

#include "run_report.h"

#include "cuda_staging.h"
#include "mpi_check.h"
#include "node_share.h"
#include "waiting_threads.h"

#include "potentials/elements.hpp"

#include <cmath>
#include <cstdio>

namespace nvalchemi {

namespace {

using Kind = ExchangeEvent::Kind;

/* ---------------------------------------------------------------------- */

template <typename... Args> std::string format(const char *pattern, Args... args)
{
  char text[256];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

/* ---------------------------------------------------------------------- */

struct Spread {
  double least = 0.0, mean = 0.0, most = 0.0;
};

Spread spread_over_ranks(MPI_Comm comm, double mine)
{
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  Spread spread;
  NVALCHEMI_MPI(MPI_Reduce(&mine, &spread.least, 1, MPI_DOUBLE, MPI_MIN, 0, comm));
  NVALCHEMI_MPI(MPI_Reduce(&mine, &spread.most, 1, MPI_DOUBLE, MPI_MAX, 0, comm));
  NVALCHEMI_MPI(MPI_Reduce(&mine, &spread.mean, 1, MPI_DOUBLE, MPI_SUM, 0, comm));
  spread.mean /= nprocs;
  return spread;
}

std::string counts(MPI_Comm comm, const char *name, double mine)
{
  const Spread s = spread_over_ranks(comm, mine);
  return format("%s %.0f/%.1f/%.0f", name, s.least, s.mean, s.most);
}

/* ---------------------------------------------------------------------- */

const char *kind_name(Kind kind)
{
  if (kind == Kind::Forward) return "forward";
  return kind == Kind::Reverse ? "reverse" : "sum";
}

int count_kind(const std::vector<ExchangeRecord> &exchanges, Kind kind)
{
  int count = 0;
  for (const ExchangeRecord &exchange : exchanges)
    if (exchange.event.kind == kind) ++count;
  return count;
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::string describe_device(const std::string &device)
{
  const int gpu = gpu_number(device);
  if (gpu < 0) return device;
  const std::string uuid = cuda_device_uuid(gpu);
  return uuid.empty() ? device : device + " (" + uuid + ")";
}

/* ---------------------------------------------------------------------- */

std::string describe_model(const ModelCard &card, const ModelFacts &facts,
                           const std::vector<TypeLine> &types)
{
  std::string text =
      "nvalchemi: model " + card.name + " (" + card.family + ") from " + facts.file + "\n";
  text += format("  cutoff %g %s, dtype %s, %s rows\n", card.cutoff, card.length_unit.c_str(),
                 card.dtype.c_str(), card.rows == RowMode::Folded ? "folded" : "raw");
  text += "  device " + facts.device + ", " + std::to_string(facts.threads) +
          (facts.threads == 1 ? " LibTorch thread per rank\n" : " LibTorch threads per rank\n");
  text += describe_waiting(facts.threads);
  text += "  LAMMPS built " + facts.lammps_built + ", running " + facts.lammps_running +
          "; LibTorch built " + facts.torch_built + ", running " + facts.torch_running + "\n";
  text += "   type symbol   Z  index       mass\n";
  for (const TypeLine &line : types) {
    if (line.species < 0) {
      text += format("  %5d   NULL   -      -          -\n", line.type);
      continue;
    }
    const std::string &symbol = card.species[line.species];
    const std::string mass = line.mass > 0.0 ? format("%10.5g", line.mass) : "         -";
    text += format("  %5d %6s %3d %6lld %s\n", line.type, symbol.c_str(), atomic_number(symbol),
                   static_cast<long long>(card.species_index[line.species]), mass.c_str());
  }
  return text;
}

/* ----------------------------------------------------------------------
   isotopes pass, hydrogen also with the masses used for long time steps;
   a neighbour in the periodic table does not
------------------------------------------------------------------------- */

std::vector<std::string> doubtful_masses(const ModelCard &card, const std::vector<TypeLine> &types)
{
  std::vector<std::string> doubts;
  for (const TypeLine &line : types) {
    if (line.species < 0 || line.mass <= 0.0) continue;
    const std::string &symbol = card.species[line.species];
    const double weight = atomic_weight(atomic_number(symbol));
    const bool usual = symbol == "H" ? line.mass > 0.9 && line.mass < 4.5
                                     : std::abs(line.mass / weight - 1.0) < 0.15;
    const bool another = std::abs(line.mass - weight) > 0.5 && nearest_element(line.mass) != symbol;
    if (usual && (!another || symbol == "H")) continue;
    doubts.push_back(format("atom type %d: got mass %g, which is nearest to %s, expected about %g "
                            "of %s. Check the order of the elements in pair_coeff",
                            line.type, line.mass, nearest_element(line.mass).c_str(), weight,
                            symbol.c_str()));
  }
  return doubts;
}

/* ---------------------------------------------------------------------- */

std::string describe_decomposition(MPI_Comm comm, const RowCounts &mine,
                                   const std::string &transport,
                                   const std::vector<ExchangeRecord> &exchanges)
{
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  std::string text = "  rows per rank (min/avg/max): " + counts(comm, "owned", mine.owned) + ", " +
                     counts(comm, "ghost atoms", mine.ghosts) + ", " +
                     counts(comm, "halo", mine.halo) + "; " + counts(comm, "edges", mine.edges) +
                     "\n";
  text += "  transport: " + transport + format(", %d rank%s\n", nprocs, nprocs > 1 ? "s" : "");
  text += format("  exchanges per step: %d forward, %d reverse, %d sum\n",
                 count_kind(exchanges, Kind::Forward), count_kind(exchanges, Kind::Reverse),
                 count_kind(exchanges, Kind::SystemSum));
  for (std::size_t k = 0; k < exchanges.size(); ++k) {
    const Spread bytes = spread_over_ranks(comm, exchanges[k].bytes_sent);
    text += format("    %2d %-7s width %5lld, bytes sent per rank (min/avg/max): %.0f/%.0f/%.0f\n",
                   static_cast<int>(k + 1), kind_name(exchanges[k].event.kind),
                   static_cast<long long>(exchanges[k].event.width), bytes.least, bytes.mean,
                   bytes.most);
  }
  return text;
}

/* ---------------------------------------------------------------------- */

std::string hint_at_graph_parallel(MPI_Comm comm, const RowCounts &mine, const ModelCard &card,
                                   std::size_t exchanges)
{
  constexpr double NEARLY_ALL = 0.95;
  int nprocs;
  NVALCHEMI_MPI(MPI_Comm_size(comm, &nprocs));
  const double owned = nprocs * spread_over_ranks(comm, mine.owned).mean;
  const double halo = nprocs * spread_over_ranks(comm, mine.halo).mean;
  const double others = (nprocs - 1) * owned;
  const auto &spec = card.distribution();
  // adapters say what a halo needs; what they would be in whole blocks is the author's to say
  const bool adapted =
      !spec.distribution.custom_ops.empty() || !spec.distribution.third_party_helpers.empty();
  const bool can = spec.distribution.policy.has_halo() && !adapted &&
                   card.rows == RowMode::Folded && exchanges > 0;
  if (!can || nprocs == 1 || halo < NEARLY_ALL * others) return {};
  return format(
      "  hint: halo rows are %.0f %% of all atoms of other ranks: the box is close to the "
      "cutoff. Policy graph_parallel\n"
      "    (keyword spec SPEC_MPNN_GP) exchanges one row for each atom instead, in whole "
      "blocks\n",
      100.0 * halo / others);
}

/* ---------------------------------------------------------------------- */

std::string describe_times(MPI_Comm comm, const TimeSplit &mine)
{
  const double sections[] = {mine.graph, mine.model, mine.exchange, mine.accumulate};
  const char *names[] = {"graph", "model", "exchange", "accumulate"};
  double all = 0.0;
  Spread spreads[4];
  for (int k = 0; k < 4; ++k) {
    spreads[k] = spread_over_ranks(comm, sections[k]);
    all += spreads[k].mean;
  }
  std::string text = format("\nnvalchemi: %lld evaluations, seconds per rank\n",
                            static_cast<long long>(mine.evaluations));
  if (mine.replays > 0)
    text += format("  %lld of them replayed a CUDA graph, recorded %d times\n",
                   static_cast<long long>(mine.replays), mine.recordings);
  text += "  section     |     min |     avg |     max | % of all\n";
  for (int k = 0; k < 4; ++k)
    text +=
        format("  %-11s | %7.4g | %7.4g | %7.4g | %6.2f\n", names[k], spreads[k].least,
               spreads[k].mean, spreads[k].most, all > 0.0 ? 100.0 * spreads[k].mean / all : 0.0);
  return text;
}

/* ----------------------------------------------------------------------
   Kokkos tells how much memory it could not get, but not what for
------------------------------------------------------------------------- */

std::string describe_problem(const std::string &problem, int nlocal, int nghost)
{
  if (problem.find("allocat") == std::string::npos) return problem;
  return "out of memory for the neighbours of " + std::to_string(nlocal) + " atoms and " +
         std::to_string(nghost) + " ghost atoms on this rank: " + problem +
         ". Use more ranks, one GPU for each, or fewer atoms";
}

/* ---------------------------------------------------------------------- */

std::string describe_gpu_memory(MPI_Comm comm, int gpu)
{
  constexpr double GIB = 1024.0 * 1024.0 * 1024.0;
  const GpuMemory memory = cuda_memory(gpu);
  const Spread used = spread_over_ranks(comm, memory.used / GIB);
  return format("  GPU memory in use (min/avg/max): %.3f/%.3f/%.3f of %.1f GiB\n", used.least,
                used.mean, used.most, memory.total / GIB);
}

}    // namespace nvalchemi
