// SPDX-License-Identifier: GPL-2.0-only
#include "kernels/dispersion.hpp"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "kernels/edge_sums.hpp"

namespace nvalchemi {

namespace {

using namespace edge_formulas;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr const char* kCount = "d3_coordination_numbers";
constexpr const char* kEnergy = "d3_energies";

void check_species(const char* name, const at::Tensor& species, const at::Tensor& edge_vectors,
                   std::int64_t kinds) {
    TORCH_CHECK(species.dim() == 1 && species.scalar_type() == at::kLong, name, ": got species ",
                species.scalar_type(), " of shape ", species.sizes(),
                ", expected int64 of shape (rows)");
    TORCH_CHECK(species.device() == edge_vectors.device(), name, ": got species on ",
                species.device(), ", expected them on ", edge_vectors.device(), " as edge_vectors");
    if (!species.is_cpu() || species.numel() == 0) return;
    const auto [low, high] = species.aminmax();
    TORCH_CHECK(low.item<Index>() >= 0 && high.item<Index>() < kinds, name, ": got species from ",
                low.item<Index>(), " to ", high.item<Index>(), ", expected numbers from 0 to ",
                kinds - 1, ", of which the tables know");
}

void check_shape(const char* name, const char* what, const at::Tensor& tensor,
                 at::IntArrayRef shape) {
    TORCH_CHECK(tensor.sizes() == shape, name, ": got ", what, " of shape ", tensor.sizes(),
                ", expected ", shape);
}

void refuse_second_derivatives(const char* name) {
    TORCH_CHECK(!at::GradMode::is_enabled(), name,
                ": got a request for second derivatives, expected first derivatives only "
                "(create_graph=False); evaluate an archive that was exported with --no-fused "
                "instead");
}

/// Checked arguments of d3_coordination_numbers.
struct Counting {
    Counting(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
             const at::Tensor& species_of_rows, const at::Tensor& table, double steepness,
             double cutoff, double bohr)
        : steepness(steepness), cutoff(cutoff), bohr(bohr) {
        TORCH_CHECK(table.dim() == 1, kCount, ": got radii of shape ", table.sizes(),
                    ", expected (kinds)");
        check_species(kCount, species_of_rows, edge_vectors, table.size(0));
        edges = contiguous_edges(kCount, edge_vectors, edge_index, species_of_rows.size(0));
        species = species_of_rows.contiguous();
        radii = contiguous_like(kCount, "radii", table, edge_vectors);
    }

    template <typename T>
    CountedNeighbor<T> formula() const {
        return {species.const_data_ptr<Index>(), radii.const_data_ptr<T>(),
                static_cast<T>(steepness), static_cast<T>(cutoff), static_cast<T>(1.0 / bohr)};
    }

    at::Tensor sum() const {
        return AT_DISPATCH_FLOATING_TYPES(edges.vectors.scalar_type(), kCount, [&] {
            return sum_of_edges(edges, formula<scalar_t>(), species.size(0));
        });
    }

    at::Tensor gradient(const at::Tensor& grad) const {
        return AT_DISPATCH_FLOATING_TYPES(edges.vectors.scalar_type(), kCount, [&] {
            return gradients_of_edges(edges, formula<scalar_t>(), grad, true, false).vectors;
        });
    }

    EdgeTensors edges;
    at::Tensor species, radii;
    double steepness, cutoff, bohr;
};

/// The tensors of d3_energies, in its order.
struct EnergyTensors {
    at::Tensor edge_vectors, edge_index, species, coordination_numbers;
    at::Tensor c6, reference_cn, has_reference, r2r4, radius;
};

/// ... and its numbers.
struct EnergyNumbers {
    double steepness, s6, s8;
    std::vector<double> damping;
    double cutoff, bohr;
};

/// Checked arguments of d3_energies, and the weights of reference systems.
struct Dispersion {
    Dispersion(const EnergyTensors& given, const EnergyNumbers& numbers)
        : tensors(given), numbers(numbers) {
        const auto kinds = given.r2r4.numel();
        check_shape(kEnergy, "r2r4", given.r2r4, {kinds});
        check_shape(kEnergy, "c6", given.c6, {kinds, kinds, kReferences, kReferences});
        check_shape(kEnergy, "reference_cn", given.reference_cn, {kinds, kReferences});
        check_shape(kEnergy, "has_reference", given.has_reference, {kinds, kReferences});
        check_shape(kEnergy, "radius", given.radius, {kinds, kinds});
        check_species(kEnergy, given.species, given.edge_vectors, kinds);
        const auto rows = given.species.size(0);
        check_shape(kEnergy, "coordination_numbers", given.coordination_numbers, {rows});
        TORCH_CHECK(numbers.damping.empty() || numbers.damping.size() == 4, kEnergy, ": got ",
                    numbers.damping.size(),
                    " numbers of the damping, expected none "
                    "(Becke-Johnson) or scale6, scale8, shift, alpha (zero damping)");
        edges = contiguous_edges(kEnergy, given.edge_vectors, given.edge_index, rows);
        const auto& like = given.edge_vectors;
        TORCH_CHECK(given.has_reference.scalar_type() == at::kBool &&
                        given.has_reference.device() == like.device(),
                    kEnergy, ": got has_reference ", given.has_reference.scalar_type(), " on ",
                    given.has_reference.device(), ", expected Bool on ", like.device());
        tensors.species = given.species.contiguous();
        tensors.has_reference = given.has_reference.contiguous();
        const auto take = [&](at::Tensor EnergyTensors::*member, const char* what) {
            tensors.*member = contiguous_like(kEnergy, what, given.*member, like);
        };
        take(&EnergyTensors::coordination_numbers, "coordination_numbers");
        take(&EnergyTensors::c6, "c6");
        take(&EnergyTensors::reference_cn, "reference_cn");
        take(&EnergyTensors::r2r4, "r2r4");
        take(&EnergyTensors::radius, "radius");
        weights = at::empty({rows, kReferences, 2}, edges.vectors.options());
        AT_DISPATCH_FLOATING_TYPES(like.scalar_type(), kEnergy, [&] { fill<scalar_t>(); });
    }

    template <typename T>
    const T* pointer(const at::Tensor& tensor) const {
        return tensor.const_data_ptr<T>();
    }

    template <typename T>
    void fill() const {
        fill_weights(ReferenceWeights<T>{pointer<Index>(tensors.species),
                                         pointer<T>(tensors.coordination_numbers),
                                         pointer<T>(tensors.reference_cn),
                                         pointer<bool>(tensors.has_reference),
                                         static_cast<Weight<T>*>(weights.mutable_data_ptr()),
                                         static_cast<T>(numbers.steepness)},
                     tensors.species.size(0), weights);
    }

    template <typename T>
    PairDispersion<T> formula() const {
        const auto& d = numbers.damping;
        const auto of_damping = [&d](std::size_t n) {
            return static_cast<T>(d.empty() ? 0 : d[n]);
        };
        return {pointer<Index>(tensors.species),
                static_cast<const Weight<T>*>(weights.const_data_ptr()),
                pointer<T>(tensors.c6),
                pointer<T>(tensors.r2r4),
                pointer<T>(tensors.radius),
                tensors.r2r4.size(0),
                static_cast<T>(numbers.s6),
                static_cast<T>(numbers.s8),
                static_cast<T>(numbers.cutoff),
                static_cast<T>(1.0 / numbers.bohr),
                d.empty(),
                of_damping(0),
                of_damping(1),
                of_damping(2),
                of_damping(3)};
    }

    at::Tensor sum() const {
        return AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), kEnergy, [&] {
            return sum_of_edges(edges, formula<scalar_t>(), tensors.species.size(0));
        });
    }

    EdgeSumGradients gradients(const at::Tensor& grad, bool of_vectors, bool of_rows) const {
        return AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), kEnergy, [&] {
            return gradients_of_edges(edges, formula<scalar_t>(), grad, of_vectors, of_rows);
        });
    }

    EnergyTensors tensors;
    EnergyNumbers numbers;
    EdgeTensors edges;
    at::Tensor weights;  // (rows, references, [value, slope])
};

class CoordinationNumbers : public torch::autograd::Function<CoordinationNumbers> {
  public:
    static at::Tensor forward(AutogradContext* context, const at::Tensor& edge_vectors,
                              const at::Tensor& edge_index, const at::Tensor& species,
                              const at::Tensor& radii, double steepness, double cutoff,
                              double bohr) {
        const at::AutoDispatchBelowADInplaceOrView below;
        context->save_for_backward({edge_vectors, edge_index, species, radii});
        context->saved_data["numbers"] = std::vector<double>{steepness, cutoff, bohr};
        return d3_coordination_numbers(edge_vectors, edge_index, species, radii, steepness, cutoff,
                                       bohr);
    }

    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        refuse_second_derivatives(kCount);
        const auto saved = context->get_saved_variables();
        const auto numbers = context->saved_data["numbers"].toDoubleVector();
        const c10::OptionalDeviceGuard device(saved[0].device());
        variable_list result(7);
        if (context->needs_input_grad(0))
            result[0] =
                Counting(saved[0], saved[1], saved[2], saved[3], numbers[0], numbers[1], numbers[2])
                    .gradient(grads[0]);
        return result;
    }
};

class Energies : public torch::autograd::Function<Energies> {
  public:
    static at::Tensor forward(AutogradContext* context, const at::Tensor& edge_vectors,
                              const at::Tensor& coordination_numbers, const EnergyTensors& tensors,
                              const EnergyNumbers& numbers) {
        const at::AutoDispatchBelowADInplaceOrView below;
        context->save_for_backward({edge_vectors, tensors.edge_index, tensors.species,
                                    coordination_numbers, tensors.c6, tensors.reference_cn,
                                    tensors.has_reference, tensors.r2r4, tensors.radius});
        context->saved_data["numbers"] = std::vector<double>{
            numbers.steepness, numbers.s6, numbers.s8, numbers.cutoff, numbers.bohr};
        context->saved_data["damping"] = numbers.damping;
        const c10::OptionalDeviceGuard device(edge_vectors.device());
        return Dispersion(tensors, numbers).sum();
    }

    static variable_list backward(AutogradContext* context, const variable_list& grads) {
        refuse_second_derivatives(kEnergy);
        const auto s = context->get_saved_variables();
        const auto n = context->saved_data["numbers"].toDoubleVector();
        const auto damping = context->saved_data["damping"].toDoubleVector();
        const c10::OptionalDeviceGuard device(s[0].device());
        const Dispersion dispersion({s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]},
                                    {n[0], n[1], n[2], damping, n[3], n[4]});
        const auto found = dispersion.gradients(grads[0], context->needs_input_grad(0),
                                                context->needs_input_grad(1));
        return {found.vectors, found.rows, {}, {}};
    }
};

}  // namespace

at::Tensor d3_coordination_numbers(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                   const at::Tensor& species, const at::Tensor& radii,
                                   double steepness, double cutoff, double bohr) {
    const c10::OptionalDeviceGuard device(edge_vectors.device());
    return Counting(edge_vectors, edge_index, species, radii, steepness, cutoff, bohr).sum();
}

at::Tensor d3_energies(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                       const at::Tensor& species, const at::Tensor& coordination_numbers,
                       const at::Tensor& c6, const at::Tensor& reference_cn,
                       const at::Tensor& has_reference, const at::Tensor& r2r4,
                       const at::Tensor& radius, double steepness, double s6, double s8,
                       at::ArrayRef<double> damping, double cutoff, double bohr) {
    const c10::OptionalDeviceGuard device(edge_vectors.device());
    return Dispersion({edge_vectors, edge_index, species, coordination_numbers, c6, reference_cn,
                       has_reference, r2r4, radius},
                      {steepness, s6, s8, damping.vec(), cutoff, bohr})
        .sum();
}

at::Tensor differentiable_d3_coordination_numbers(const at::Tensor& edge_vectors,
                                                  const at::Tensor& edge_index,
                                                  const at::Tensor& species,
                                                  const at::Tensor& radii, double steepness,
                                                  double cutoff, double bohr) {
    return CoordinationNumbers::apply(edge_vectors, edge_index, species, radii, steepness, cutoff,
                                      bohr);
}

at::Tensor differentiable_d3_energies(const at::Tensor& edge_vectors, const at::Tensor& edge_index,
                                      const at::Tensor& species,
                                      const at::Tensor& coordination_numbers, const at::Tensor& c6,
                                      const at::Tensor& reference_cn,
                                      const at::Tensor& has_reference, const at::Tensor& r2r4,
                                      const at::Tensor& radius, double steepness, double s6,
                                      double s8, at::ArrayRef<double> damping, double cutoff,
                                      double bohr) {
    return Energies::apply(edge_vectors, coordination_numbers,
                           EnergyTensors{edge_vectors, edge_index, species, coordination_numbers,
                                         c6, reference_cn, has_reference, r2r4, radius},
                           EnergyNumbers{steepness, s6, s8, damping.vec(), cutoff, bohr});
}

}  // namespace nvalchemi
