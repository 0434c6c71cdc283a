// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_TEST_VALIDATOR_SUPPORT_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_TEST_VALIDATOR_SUPPORT_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/faulty_exchange.hpp"
#include "kernels/halo_exchange.hpp"
#include "potentials/validator/validate_in_parts.hpp"
#include "unittest/potentials/scripted_network.hpp"

namespace nvalchemi::testing {

/// 96 atoms of three species on a shaken 6 x 4 x 4 grid, 16.5 x 11 x 11 Angstrom, skewed: parts of
/// it do not see all atoms at a cutoff of 5 Angstrom.
WholeSystem shaken_grid();

/// A request for a network of scripted_network.hpp. `core` is JSON text inside "core" after the
/// policy, `rest` after "core"; `policy` replaces the fields of "policy".
ValidationRequest scripted_request(const ScriptedModel& model, const std::string& core = "",
                                   const std::string& rest = "",
                                   const std::string& policy = R"("kind": "halo")");
ValidationRequest scripted_request(const std::string& body, const std::string& core = "",
                                   const std::string& rest = "",
                                   const std::string& policy = R"("kind": "halo")");
/// The archive `name` of the tests, on its structure `structure` ("toy_nacl64"), read beside it.
ValidationRequest archive_request(const std::string& name, const std::string& structure);

/// Body lines of networks; push, pull, total and gate are operators of adapter_operators.hpp.
extern const std::string kLayer, kPush, kPull, kTotal, kGate, kSenderSum, kSystemSum;
/// "custom_ops" with one operator and its transforms as JSON text.
std::string with_op(const std::string& name, const std::string& arguments,
                    const std::string& outputs);
std::string adapter(const std::string& name, const std::string& arguments,
                    const std::string& outputs);
std::string with_ops(const std::vector<std::string>& adapters);
extern const std::string kScatter, kReduce, kSlice, kGather;

/// A network that calls a function which sums over the atoms of a system in its own way.
ScriptedModel network_with_system_helper();
/// The spec text that declares it.
extern const std::string kHelperAdapter;

/// For ValidationRequest::parts.wrap_exchange.
std::function<std::unique_ptr<HaloExchange>(int, HaloExchange&)> faulty(const ExchangeFault& fault);

}  // namespace nvalchemi::testing

#endif
