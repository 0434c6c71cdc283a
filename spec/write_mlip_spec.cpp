// SPDX-License-Identifier: GPL-2.0-only
#include "spec/write_mlip_spec.hpp"

#include "spec/format/doubts.hpp"
#include "spec/format/encode_mlip_spec.hpp"
#include "spec/json_cursor.hpp"
#include "spec/parse_mlip_spec.hpp"
#include "spec/write_json.hpp"

namespace nvalchemi {

std::string write_mlip_spec(const MLIPSpec& spec) { return write_json(encode_mlip_spec(spec)); }

std::string migrate_mlip_spec(const std::string& json_text, const std::string& document,
                              std::vector<std::string>& warnings) {
    const ReadOptions options{true, &warnings};
    const JsonCursor cursor = JsonCursor::parse(json_text, document, "", options);
    const MLIPSpec spec = read_mlip_spec(cursor, options);
    if (!cursor.find("compile")) {
        Doubts(options).note(cursor,
                             "got no key \"compile\", which early files cannot have; written as "
                             "null, that is the model differentiates itself (set it if the plugin "
                             "is to differentiate the energy)");
    }
    return write_mlip_spec(spec);
}

}  // namespace nvalchemi
