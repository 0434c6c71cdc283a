// SPDX-License-Identifier: GPL-2.0-only

#include "model_source.h"

#include "mpi_check.h"
#include "node_share.h"
#include "rank_agreement.h"
#include "root_text.h"
#include "shared_file.h"

#include <filesystem>
#include <stdexcept>

#include "potentials/session.hpp"
#include "potentials/torch_release.hpp"
#include "potentials/validator/refusal_remedy.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/presets.hpp"

namespace nvalchemi {

namespace {

/* ----------------------------------------------------------------------
   all ranks give messages the name that rank 0 found
------------------------------------------------------------------------- */

std::string share_path(MPI_Comm comm, std::string path)
{
  int length = static_cast<int>(path.size());
  NVALCHEMI_MPI(MPI_Bcast(&length, 1, MPI_INT, 0, comm));
  path.resize(length);
  NVALCHEMI_MPI(MPI_Bcast(path.data(), length, MPI_CHAR, 0, comm));
  return path;
}

/* ----------------------------------------------------------------------
   work that may fail on some ranks only
------------------------------------------------------------------------- */

template <typename Work> void on_all_ranks(MPI_Comm comm, const Work &work)
{
  RankOutcome outcome;
  try {
    work();
  } catch (const std::exception &problem) {
    outcome.failure = problem.what();
  }
  const std::string failure = agree_on_failure(comm, outcome);
  if (!failure.empty()) throw std::runtime_error(failure);
}

/* ---------------------------------------------------------------------- */

std::string release(const std::string &version)
{
  return version.substr(0, version.find_first_not_of("0123456789."));
}

void check_torch_version()
{
  const std::string built = Session::torch_version_built();
  const std::string running = Session::torch_version_running();
  if (running.find_first_of("0123456789") != 0 || release(built) == release(running)) return;
  throw std::runtime_error("LibTorch: the plugin runs with version " + running + ", expected " +
                           built +
                           " for which it was built. Build it again, or "
                           "do not load another LibTorch into this process");
}

/* ----------------------------------------------------------------------
   the keyword, or NAME.card.json beside an archive that holds none
------------------------------------------------------------------------- */

void read_card(MPI_Comm comm, const std::string &archive, const PairOptions &options,
               SessionOptions &session)
{
  if (!options.card_file.empty()) {
    session.card_path = options.card_file;
    session.card_text = read_shared_file(comm, options.card_file, "model card");
    return;
  }
  bool embedded = false;
  on_all_ranks(comm, [&] { embedded = read_embedded_card(archive, session.path).has_value(); });
  if (embedded) return;
  session.card_path = std::filesystem::path(session.path).replace_extension(".card.json").string();
  session.card_text = read_shared_file_if_present(comm, session.card_path, "model card");
}

/* ----------------------------------------------------------------------
   a preset by name, or a file; nothing: the card's own
------------------------------------------------------------------------- */

std::optional<MLIPSpec> read_spec(MPI_Comm comm, const PairOptions &options,
                                  std::vector<std::string> &warnings)
{
  if (options.spec.empty()) return std::nullopt;
  if (const MLIPSpec *preset = find_preset(options.spec)) return *preset;
  if (options.spec.rfind("SPEC_", 0) == 0 && options.spec.find('.') == std::string::npos) {
    std::string known;
    for (const std::string &name : preset_names()) known += (known.empty() ? "" : ", ") + name;
    throw std::runtime_error("keyword spec: got '" + options.spec +
                             "', expected a file or one of the presets " + known);
  }
  const std::string text = read_shared_file(comm, options.spec, "distribution spec");
  MLIPSpec spec;
  on_all_ranks(comm, [&] {
    spec = parse_mlip_spec(text, options.spec, "", {options.lenient_spec, &warnings});
  });
  return spec;
}

}    // namespace

/* ---------------------------------------------------------------------- */

std::unique_ptr<Session> load_model(MPI_Comm comm, const std::string &path,
                                    const PairOptions &options, int threads, ModelSource &source,
                                    std::vector<std::string> &warnings)
{
  int me;
  NVALCHEMI_MPI(MPI_Comm_rank(comm, &me));
  keep_freed_memory();

  SessionOptions session;
  session.path = share_path(comm, path);
  const std::string archive = read_shared_file(comm, session.path, "model archive");
  read_card(comm, archive, options, session);
  session.spec_reading = {options.lenient_spec, &warnings};
  session.operator_libraries = options.operator_libraries;
  session.device = device_for_rank(comm, options.device);
  session.threads = threads;
  session.total_charge = options.total_charge;
  session.edge_moments = options.centroid;
  session.graphs = options.graphs;
  session.overlap = options.overlap;

  // every rank has the same bytes: one self-test speaks for all

  session.self_test = options.self_test && me == 0;

  on_all_ranks(comm, check_torch_version);
  std::unique_ptr<Session> loaded;
  try {
    session.spec = read_spec(comm, options, warnings);
    on_all_ranks(comm, [&] { loaded = std::make_unique<Session>(archive, session); });
  } catch (const std::runtime_error &refusal) {
    std::string remedy;
    if (me == 0) remedy = remedy_of_refusal(archive, session, options.spec);
    share_root_text(comm, remedy);
    if (remedy.empty()) throw;
    const std::string reason = refusal.what();
    const bool ends = !reason.empty() && reason.back() == '.';
    throw std::runtime_error(reason + (ends ? " " : ". ") + remedy);
  }
  const std::string later = note_on_later_torch(loaded->card().torch_version);
  if (!later.empty()) warnings.push_back("model '" + loaded->card().name + "' was " + later);
  if (!loaded->rounds_at().empty())
    warnings.push_back("model '" + loaded->card().name + "' is a float64 model, but " +
                       loaded->rounds_at() +
                       " computes in float32: results are right to float32, and are compared so");
  session.spec_reading.warnings = nullptr;
  session.graphs = GraphUse::No;
  session.overlap = false;
  source = {me == 0 ? archive : std::string(), session};
  return loaded;
}

}    // namespace nvalchemi
