// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_SPEC_ERROR_HPP
#define NVALCHEMI_SPEC_SPEC_ERROR_HPP

#include <stdexcept>
#include <string>
#include <utility>

#include "spec/json_value.hpp"

namespace nvalchemi {

/// A declaration (spec or card) that cannot be accepted. The text reads
/// `<document> <JSON pointer>: got <found>, expected <expected> (<remedy>)`.
class SpecError : public std::runtime_error {
  public:
    SpecError(std::string document, std::string pointer, const std::string& problem)
        : std::runtime_error(document + " " + (pointer.empty() ? "/" : shown(pointer)) + ": " +
                             problem),
          document_(std::move(document)),
          pointer_(std::move(pointer)) {}

    /// Which document: "mlip_spec", "model card", or a file name.
    const std::string& document() const { return document_; }
    /// JSON pointer (RFC 6901) of the offending element; empty for the whole document.
    const std::string& pointer() const { return pointer_; }

  private:
    /// A key can be of any length and hold any character: a line break, or a NUL, which would end
    /// the message.
    static std::string shown(const std::string& pointer) {
        constexpr std::size_t kShownBytes = 401;  // a slash and 400 of a key
        if (pointer.size() <= kShownBytes) return printable(pointer);
        std::size_t length = kShownBytes;
        while ((pointer[length] & 0xC0) == 0x80 && length > 0) --length;
        return printable(pointer.substr(0, length)) + "...";
    }

    std::string document_;
    std::string pointer_;
};

}  // namespace nvalchemi

#endif
