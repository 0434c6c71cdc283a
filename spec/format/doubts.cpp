// SPDX-License-Identifier: GPL-2.0-only
#include "spec/format/doubts.hpp"

#include "spec/json_cursor.hpp"
#include "spec/spec_error.hpp"

namespace nvalchemi {

void Doubts::raise(const JsonCursor& place, const std::string& problem,
                   const std::string& consequence) const {
    raise(place.document(), place.pointer(), problem, consequence);
}

void Doubts::raise(const std::string& document, const std::string& pointer,
                   const std::string& problem, const std::string& consequence) const {
    if (!options_.lenient) throw SpecError(document, pointer, problem);
    warn(SpecError(document, pointer, problem).what() + ("; lenient: " + consequence));
}

void Doubts::note(const JsonCursor& place, const std::string& text) const {
    warn(SpecError(place.document(), place.pointer(), text).what());
}

void Doubts::raise_unknown_keys(const JsonCursor& object,
                                const std::vector<std::string>& known) const {
    for (const JsonCursor& member : object.unknown_members(known)) {
        raise(member, member.unknown_key_problem(known) + " (remove it, or correct its spelling)",
              "the key is ignored");
    }
}

void Doubts::warn(const std::string& text) const {
    if (options_.warnings) options_.warnings->push_back(text);
}

}  // namespace nvalchemi
