// SPDX-License-Identifier: GPL-2.0-only
// What the pair style reads from its input, without LAMMPS.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/USER-NVALCHEMI/fault_injection.h"
#include "src/USER-NVALCHEMI/ghost_cutoff.h"
#include "src/USER-NVALCHEMI/pair_options.h"
#include "src/USER-NVALCHEMI/unit_scale.h"

namespace nvalchemi {
namespace {

std::string failure_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing was thrown";
}

void expect_failure(const std::function<void()>& work, const std::string& part) {
    const auto text = failure_of(work);
    EXPECT_NE(text.find(part), std::string::npos) << "expected '" << part << "' in: " << text;
}

TEST(ParsePairOptions, ReadsEveryKeyword) {
    const auto options = parse_pair_options(
        {"device",   "cuda:1", "halo_comm", "mpi/device", "graphs",   "yes", "card",       "c.json",
         "spec",     "s.json", "threads",   "3",          "selftest", "no",  "exclusions", "allow",
         "centroid", "yes",    "verbose",   "yes",        "overlap",  "yes"});

    EXPECT_EQ(options.device, "cuda:1");
    EXPECT_EQ(options.halo_comm, HaloComm::MpiDevice);
    EXPECT_EQ(options.graphs, GraphUse::Yes);
    EXPECT_EQ(options.card_file, "c.json");
    EXPECT_EQ(options.spec, "s.json");
    EXPECT_EQ(options.threads, 3);
    EXPECT_FALSE(options.self_test);
    EXPECT_TRUE(options.allow_exclusions && options.centroid && options.overlap);
    EXPECT_EQ(options.verbose, 2);
}

TEST(ParsePairOptions, HasDefaultsForAll) {
    const auto options = parse_pair_options({});

    EXPECT_EQ(options.device, "auto");
    EXPECT_EQ(options.halo_comm, HaloComm::Auto);
    EXPECT_EQ(options.graphs, GraphUse::Auto);
    EXPECT_TRUE(options.self_test);
    EXPECT_FALSE(options.allow_exclusions || options.centroid || options.overlap);
    EXPECT_EQ(options.verbose, 1);
}

TEST(ParsePairOptions, RefusesWhatItDoesNotKnow) {
    expect_failure(
        [] {
            parse_pair_options({"devise", "cpu"});
        },
        "got unknown keyword 'devise', expected one of device, halo_comm, graphs, overlap, card");
    expect_failure(
        [] {
            parse_pair_options({"device", "cuda:x"});
        },
        "keyword device: got 'cuda:x', expected auto, cpu, cuda or cuda:N");
    expect_failure(
        [] {
            parse_pair_options({"halo_comm", "cuda"});
        },
        "keyword halo_comm: got 'cuda', expected auto, mpi, mpi/device or nccl");
    expect_failure(
        [] {
            parse_pair_options({"overlap", "auto"});
        },
        "keyword overlap: got 'auto', expected yes or no");
    expect_failure(
        [] {
            parse_pair_options({"graphs", "on"});
        },
        "keyword graphs: got 'on', expected auto, yes or no");
    expect_failure([] { parse_pair_options({"threads", "-1"}); }, "keyword threads: got '-1'");
    EXPECT_EQ(parse_pair_options({"charge", "-2.5"}).total_charge, -2.5);
    EXPECT_EQ(parse_pair_options({}).total_charge, std::nullopt);
    for (const char* wrong : {"one", "1e", "inf", "nan", ""})
        expect_failure(
            [&] {
                parse_pair_options({"charge", wrong});
            },
            "expected the total charge of the system, a number in e");
    expect_failure([] { parse_pair_options({"selftest", "maybe"}); }, "expected yes or no");
    expect_failure(
        [] {
            parse_pair_options({"verbose", "3"});
        },
        "keyword verbose: got '3', expected 0, 1 or 2 (or quiet, no, yes)");
    expect_failure([] { parse_pair_options({"card"}); }, "keyword card: got no value");
}

TEST(ParsePairOptions, ReadsSourcesOfInputsUpToTheNextKeyword) {
    using Kind = InputSource::Kind;
    const auto options =
        parse_pair_options({"device", "cpu", "input", "m", "-0.5", "d_mx", "i2_a[12]", "threads",
                            "2", "input", "field", "v_f", "c_T", "f_t_2[3]", "input", "z", "q"});

    EXPECT_EQ(options.threads, 2);
    ASSERT_EQ(options.inputs.size(), 3u);
    EXPECT_EQ(options.inputs[0].name, "m");
    const auto& sources = options.inputs[0].sources;
    ASSERT_EQ(sources.size(), 3u);
    EXPECT_EQ(sources[0].kind, Kind::Number);
    EXPECT_EQ(sources[0].number, -0.5);
    EXPECT_EQ(sources[1].kind, Kind::Property);
    EXPECT_EQ(sources[1].name, "mx");
    EXPECT_FALSE(sources[1].is_integer || sources[1].has_columns || sources[1].index);
    EXPECT_TRUE(sources[2].is_integer && sources[2].has_columns);
    EXPECT_EQ(sources[2].index, 12);
    EXPECT_EQ(options.inputs[1].sources[0].kind, Kind::Variable);
    EXPECT_EQ(options.inputs[1].sources[1].kind, Kind::Compute);
    EXPECT_EQ(options.inputs[1].sources[2].kind, Kind::Fix);
    EXPECT_EQ(options.inputs[1].sources[2].name, "t_2");
    EXPECT_EQ(options.inputs[1].sources[2].index, 3);
    EXPECT_EQ(options.inputs[1].sources[2].text, "f_t_2[3]");
    EXPECT_EQ(options.inputs[2].sources[0].kind, Kind::Charge);
}

TEST(ParsePairOptions, RefusesSourcesThatAreNone) {
    for (const char* wrong : {"x", "d_", "v_a[0]", "v_a[b]", "v_a[1", "c_[1]", "d2_a", "d_a[1]",
                              "nan", "1e", "k_a", "i2_a[]", "f_a[1]b"})
        expect_failure(
            [&] {
                parse_pair_options({"input", "m", wrong});
            },
            std::string("keyword input m: got '") + wrong +
                "', expected a number, q, d_NAME, i_NA");
    expect_failure([] { parse_pair_options({"input"}); }, "keyword input: got no value");
    for (const auto& words : {std::vector<std::string>{"input", "m"},
                              std::vector<std::string>{"input", "m", "threads", "2"}})
        expect_failure([&] { parse_pair_options(words); },
                       "keyword input m: got no source, expected one for each number");
    expect_failure(
        [] {
            parse_pair_options({"input", "m", "1", "input", "m", "2"});
        },
        "keyword input: got 'm' twice, expected all of its sources after one");
    expect_failure(
        [] {
            parse_pair_options({"charge", "1", "input", "total_charge", "v_q"});
        },
        "keyword charge: got it beside 'input total_charge', expected one of the two");
}

TEST(MapTypes, FindsSymbolsAndUnmappedTypes) {
    EXPECT_EQ(map_types({"Cl", "NULL", "Na", "Cl"}, 4, {"Na", "Cl"}, true),
              (std::vector<int>{-1, 1, -1, 0, 1}));
}

TEST(MapTypes, RefusesWhatDoesNotFit) {
    expect_failure([] { map_types({"Na"}, 2, {"Na"}, false); },
                   "got 1 element symbol, expected 2 (one for each atom type)");
    expect_failure(
        [] {
            map_types({"Na", "Xx"}, 2, {"Na", "Cl"}, false);
        },
        "got element 'Xx' for atom type 2, expected one that the model knows: Na Cl");
    expect_failure(
        [] {
            map_types({"NA", "Cl"}, 2, {"Na", "Cl"}, false);
        },
        "got element 'NA' for atom type 1, expected one that the model knows: Na Cl. Write Na");
    expect_failure(
        [] {
            map_types({"Na", "NULL"}, 2, {"Na"}, false);
        },
        "got NULL for atom type 2, expected an element");
}

TEST(UnitScale, KnowsMetalAndReal) {
    EXPECT_EQ(unit_scale("metal").ev_per_energy, 1.0);
    EXPECT_NEAR(unit_scale("real").ev_per_energy, 0.0433641, 1e-7);
    EXPECT_EQ(unit_scale("real").angstrom_per_length, 1.0);
    expect_failure([] { unit_scale("lj"); }, "got 'lj', expected 'metal' or 'real'");
}

TEST(CheckGhostCutoff, RefusesGhostsThatDoNotReachFarEnough) {
    check_ghost_cutoff(5.0, 5.0);

    expect_failure([] { check_ghost_cutoff(9.0, 6.5); },
                   "got a communication cutoff of 6.5, expected at least the model's cutoff 9. "
                   "Use 'comm_modify cutoff 9'");
}

TEST(FaultFromEnvironment, IsOffUnlessNamed) {
    unsetenv("NVALCHEMI_FAULT");
    EXPECT_FALSE(Faults::from_environment().planted());

    setenv("NVALCHEMI_FAULT", "wrong_owner@1+drop_forward#2+skip_sum@0", 1);
    const auto faults = Faults::from_environment();
    EXPECT_TRUE(faults.has(Fault::WrongOwner, 1));
    EXPECT_FALSE(faults.has(Fault::WrongOwner, 0));
    EXPECT_FALSE(faults.has(Fault::SwapRows, 1));
    const auto of_exchange = faults.of_exchange();
    ASSERT_EQ(of_exchange.size(), 2u);
    EXPECT_EQ(of_exchange[0].kind, ExchangeFault::Kind::DropForward);
    EXPECT_EQ(of_exchange[0].nth, 1);
    EXPECT_EQ(of_exchange[0].rank, -1);
    EXPECT_EQ(of_exchange[1].nth, ExchangeFault::kAll);
    EXPECT_EQ(of_exchange[1].rank, 0);
}

TEST(FaultFromEnvironment, RefusesWhatItDoesNotKnow) {
    for (const std::string word : {"something", "skip_sum#0", "wrong_owner#1", "swap_rows@x"}) {
        setenv("NVALCHEMI_FAULT", ("round_rows+" + word).c_str(), 1);
        expect_failure([] { Faults::from_environment(); },
                       "NVALCHEMI_FAULT: got '" + word +
                           "', expected NAME, NAME#CALL or NAME@RANK, several joined by +, with a "
                           "NAME among drop_forward");
    }
    unsetenv("NVALCHEMI_FAULT");
}

}  // namespace
}  // namespace nvalchemi
