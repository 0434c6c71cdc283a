// SPDX-License-Identifier: GPL-2.0-only
// What the command-line tools share: options, and their outermost function.
#ifndef NVALCHEMI_POTENTIALS_TOOLS_COMMAND_LINE_HPP
#define NVALCHEMI_POTENTIALS_TOOLS_COMMAND_LINE_HPP

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace nvalchemi {

/// Words that a tool can make nothing of.
class Misuse : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The words of a command line, sorted out. -o is --output in every tool that has it.
class CommandLine {
  public:
    /// `valued` options take the next word, `flags` take none. Throws Misuse.
    CommandLine(const std::vector<std::string>& words, const std::vector<std::string>& valued,
                const std::vector<std::string>& flags = {});

    /// Words that are neither options nor values of these.
    const std::vector<std::string>& others() const { return others_; }
    /// Throws Misuse where there are more of them than that.
    void expect_others(std::size_t most) const;
    bool has(const std::string& option) const { return values_.count(option) > 0; }
    /// All values, in order, of an option that may be given more than once.
    std::vector<std::string> all(const std::string& option) const;
    /// The last value of an option, or `otherwise`.
    std::string last(const std::string& option, const std::string& otherwise = "") const;
    /// The same of an option that must be there. Throws Misuse.
    std::string required(const std::string& option) const;

  private:
    std::vector<std::string> others_;
    std::map<std::string, std::vector<std::string>> values_;
};

/// The whole of a tool: answers --help and --version, and prints what `run` throws. Returns the
/// exit status: that of `run`, 1 after a failure, 2 after Misuse or without words. Output that
/// could not be written is a failure.
int run_tool(const std::string& name, const std::string& usage,
             const std::vector<std::string>& words,
             const std::function<int(const std::vector<std::string>&)>& run);

}  // namespace nvalchemi

#endif
