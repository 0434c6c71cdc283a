// SPDX-License-Identifier: GPL-2.0-only

#include "write_model_input.h"

#include "gathered_system.h"
#include "model_graph.h"
#include "pair_nvalchemi.h"
#include "the_pair_style.h"

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "input.h"

#include <algorithm>
#include <cstdio>

#include "potentials/input_layout.hpp"
#include "potentials/session.hpp"

using namespace LAMMPS_NS;

namespace {

const std::string WHO = "nvalchemi/write";
constexpr int TEXT_TAG = 0;

template <typename... Args> std::string format(const char *pattern, Args... args)
{
  char text[512];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

}    // namespace

/* ---------------------------------------------------------------------- */

void WriteModelInput::command(int narg, char **arg)
{
  if (narg != 1)
    error->all(FLERR, "{}: got {} arguments, expected one: the files' name without its ending", WHO,
               narg);
  if (!domain->box_exist)
    error->all(FLERR, "{}: got no simulation box, expected one with atoms", WHO);
  if (!atom->tag_enable)
    error->all(FLERR, "{}: got atoms without ids, expected ids; use atom_modify id yes", WHO);
  const std::string name = arg[0];    // the next command takes the arguments' place
  PairNvalchemi *pair = the_pair_style(lmp, WHO);
  pair->record_contribution(true);
  input->one("run 0 post no");
  pair->record_contribution(false);
  write(name + ".extxyz", header(pair), atom_lines(pair));
  write(name + ".edges", "# receiver sender x y z: ids, x[sender] - x[receiver] in Angstrom\n",
        edge_lines(pair));
}

/* ----------------------------------------------------------------------
   the two first lines of an extended XYZ file. Collective.
------------------------------------------------------------------------- */

std::string WriteModelInput::header(PairNvalchemi *pair) const
{
  double energy = pair->contribution().energy * pair->ev_per_energy(), total = 0.0;
  MPI_Reduce(&energy, &total, 1, MPI_DOUBLE, MPI_SUM, 0, world);
  long long owned = pair->parts().graph.n_owned(), atoms = 0;
  MPI_Reduce(&owned, &atoms, 1, MPI_LONG_LONG, MPI_SUM, 0, world);
  const double a = pair->angstrom_per_length(), *h = domain->h;    // xx yy zz yz xz xy
  std::string text = format("%lld\n", atoms);
  text += format("Lattice=\"%.17g 0 0 %.17g %.17g 0 %.17g %.17g %.17g\" ", a * h[0], a * h[5],
                 a * h[1], a * h[4], a * h[3], a * h[2]);
  text += format("pbc=\"%c %c %c\" energy=%.17g ", domain->xperiodic ? 'T' : 'F',
                 domain->yperiodic ? 'T' : 'F', domain->zperiodic ? 'T' : 'F', total);
  const auto parts = pair->parts();
  const auto layout = nvalchemi::input_layout(parts.session.card());
  std::string columns;
  if (parts.session.card().find_input(nvalchemi::InputRole::Charges)) columns = ":charges:R:1";
  for (const auto &place : layout.places) {
    if (place.per_atom) {
      columns += ":input_" + place.name + ":R:" + std::to_string(place.columns);
      continue;
    }
    text += "input_" + place.name + "=\"";
    for (std::int64_t k = 0; k < place.columns; ++k)
      text += format(k ? " %.17g" : "%.17g", parts.graph.given().system[place.first + k]);
    text += "\" ";
  }
  return text + "Properties=species:S:1:pos:R:3:id:I:1:energies:R:1:forces:R:3" + columns + "\n";
}

/* ---------------------------------------------------------------------- */

std::string WriteModelInput::atom_lines(PairNvalchemi *pair) const
{
  const auto parts = pair->parts();
  const auto &species = parts.session.card().species;
  const auto &found = pair->contribution();
  const double length = pair->angstrom_per_length(), energy = pair->ev_per_energy();
  const double force = energy / length;
  const auto &given = parts.graph.given();
  const bool takes_charges =
      parts.session.card().find_input(nvalchemi::InputRole::Charges) != nullptr;
  std::string text;
  for (std::int64_t row = 0; row < parts.graph.n_owned(); ++row) {
    const int i = parts.graph.atom_of_row(row);
    const double *x = atom->x[i], *f = &found.forces[3 * i];
    text += format("%s %.17g %.17g %.17g %lld %.17g %.17g %.17g %.17g",
                   species[pair->model_species(atom->type[i])].c_str(), length * x[0],
                   length * x[1], length * x[2], static_cast<long long>(atom->tag[i]),
                   energy * found.atomic_energies[i], force * f[0], force * f[1], force * f[2]);
    if (takes_charges) text += format(" %.17g", charge_of(parts.graph, atom->q, i));
    for (std::int64_t k = 0; k < given.columns; ++k)
      text += format(" %.17g", given.atoms[row * given.columns + k]);
    text += "\n";
  }
  return text;
}

/* ---------------------------------------------------------------------- */

std::string WriteModelInput::edge_lines(PairNvalchemi *pair) const
{
  const ModelGraph &graph = pair->parts().graph;
  const HostEdges edges = graph.edges_on_host();
  std::string text;
  for (std::int64_t edge = 0; edge < edges.count; ++edge) {
    const double *r = edges.vector + 3 * edge;
    text += format("%lld %lld %.17g %.17g %.17g\n",
                   static_cast<long long>(atom->tag[graph.atom_of_row(edges.receiver[edge])]),
                   static_cast<long long>(atom->tag[graph.atom_of_row(edges.sender[edge])]), r[0],
                   r[1], r[2]);
  }
  return text;
}

/* ----------------------------------------------------------------------
   rank after rank, so that rank 0 holds the text of one at a time
------------------------------------------------------------------------- */

void WriteModelInput::write(const std::string &name, const std::string &header,
                            const std::string &mine)
{
  int failed = 0;
  if (comm->me != 0) {
    long long size = mine.size();
    MPI_Send(&size, 1, MPI_LONG_LONG, 0, TEXT_TAG, world);
    for (long long at = 0; at < size; at += MAXSMALLINT)
      MPI_Send(mine.data() + at, static_cast<int>(std::min<long long>(MAXSMALLINT, size - at)),
               MPI_CHAR, 0, TEXT_TAG, world);
  } else {
    std::FILE *file = std::fopen(name.c_str(), "w");
    const auto put = [&](const std::string &text) {
      if (file && std::fwrite(text.data(), 1, text.size(), file) != text.size()) failed = 1;
    };
    put(header);
    put(mine);
    for (int rank = 1; rank < comm->nprocs; ++rank) {
      long long size = 0;
      MPI_Recv(&size, 1, MPI_LONG_LONG, rank, TEXT_TAG, world, MPI_STATUS_IGNORE);
      std::string text(size, '\0');
      for (long long at = 0; at < size; at += MAXSMALLINT)
        MPI_Recv(&text[at], static_cast<int>(std::min<long long>(MAXSMALLINT, size - at)), MPI_CHAR,
                 rank, TEXT_TAG, world, MPI_STATUS_IGNORE);
      put(text);
    }
    if (!file || std::fclose(file) != 0) failed = 1;
  }
  MPI_Bcast(&failed, 1, MPI_INT, 0, world);
  if (failed)
    error->all(FLERR, "{}: cannot write {}, expected a folder that exists with room on its disk",
               WHO, name);
}
