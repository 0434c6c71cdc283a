// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_SPEC_SPEC_ERROR_HPP
#define NVALCHEMI_SPEC_SPEC_ERROR_HPP

#include <stdexcept>
#include <string>

namespace nvalchemi {

/// A declaration (spec or card) that cannot be accepted. The text reads
/// `<document> <JSON pointer>: got <found>, expected <expected> (<remedy>)`.
class SpecError : public std::runtime_error {
  public:
    SpecError(std::string document, std::string pointer, const std::string& problem)
        : std::runtime_error(document + " " + (pointer.empty() ? "/" : printable(pointer)) + ": " +
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
    static std::string printable(const std::string& pointer) {
        constexpr char kHex[] = "0123456789abcdef";
        constexpr std::size_t kShownBytes = 400;
        std::string result;
        for (const char c : pointer) {
            if (result.size() > kShownBytes && (c & 0x80) == 0) return result + "...";
            const auto byte = static_cast<unsigned char>(c);
            const bool is_control = byte < 0x20 || byte == 0x7F;
            result += is_control ? std::string("\\x") + kHex[byte >> 4] + kHex[byte & 0xF]
                                 : std::string(1, c);
        }
        return result;
    }

    std::string document_;
    std::string pointer_;
};

}  // namespace nvalchemi

#endif
