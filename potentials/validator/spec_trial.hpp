// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_VALIDATOR_SPEC_TRIAL_HPP
#define NVALCHEMI_POTENTIALS_VALIDATOR_SPEC_TRIAL_HPP

#include <optional>

#include "potentials/validator/attempt.hpp"
#include "potentials/validator/reference.hpp"
#include "potentials/validator/validate_in_parts.hpp"

namespace nvalchemi {

/// What stays the same from spec to spec: the model, the system in parts, and the reference.
class SpecTrial {
  public:
    /// Evaluates the reference. Throws ModelError, SpecError, std::invalid_argument.
    explicit SpecTrial(const ValidationRequest& request);

    /// Load the model with `spec`, run its parts, compare. A refusal is a result.
    AttemptEvidence run(const MLIPSpec& spec);

    const ModelCard& card() const { return undecomposed_.card(); }
    const Reference& reference() const { return reference_; }
    const VirtualParts& parts() const { return parts_; }
    Session& undecomposed() { return undecomposed_; }

  private:
    AttemptEvidence try_spec(const MLIPSpec& spec);
    void evaluate(Session& session, AttemptEvidence& evidence);
    void evaluate_companion(Session& session, AttemptEvidence& evidence);

    const ValidationRequest& request_;
    Session undecomposed_;
    Reference reference_;
    VirtualParts parts_;
    AttemptEvidence common_;  ///< what depends on the parts alone
    WholeSystem companion_;   ///< see companion_system()
    VirtualParts companion_parts_;
    std::optional<Reference> companion_reference_;  ///< none where the model has no energy of it
};

/// Bytes that all ranks together hand to other ranks in one evaluation. A sum over ranks counts
/// one block for each rank.
std::int64_t bytes_sent(const std::vector<ExchangeEvent>& events, const VirtualParts& parts,
                        const ModelCard& card);

}  // namespace nvalchemi

#endif
