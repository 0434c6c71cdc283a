// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/elements.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace nvalchemi {

namespace {

constexpr std::array<std::string_view, 118> kSymbols = {
    "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",
    "S",  "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn",
    "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh",
    "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd",
    "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re",
    "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th",
    "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db",
    "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};

// IUPAC standard atomic weights (2021), rounded
constexpr std::array<double, 118> kWeights = {
    1.008, 4.003, 6.94,  9.012, 10.81, 12.01, 14.01, 16,    19,    20.18, 22.99, 24.3,
    26.98, 28.09, 30.97, 32.06, 35.45, 39.95, 39.1,  40.08, 44.96, 47.87, 50.94, 52,
    54.94, 55.84, 58.93, 58.69, 63.55, 65.38, 69.72, 72.63, 74.92, 78.97, 79.9,  83.8,
    85.47, 87.62, 88.91, 91.22, 92.91, 95.95, 97.91, 101.1, 102.9, 106.4, 107.9, 112.4,
    114.8, 118.7, 121.8, 127.6, 126.9, 131.3, 132.9, 137.3, 138.9, 140.1, 140.9, 144.2,
    144.9, 150.4, 152.0, 157.2, 158.9, 162.5, 164.9, 167.3, 168.9, 173.1, 175.0, 178.5,
    180.9, 183.8, 186.2, 190.2, 192.2, 195.1, 197.0, 200.6, 204.4, 207.2, 209.0, 209.0,
    210.0, 222.0, 223.0, 226.0, 227.0, 232.0, 231.0, 238.0, 237.0, 244.1, 243.1, 247.1,
    247.1, 251.1, 252.1, 257.1, 258.1, 259.1, 262.1, 267.1, 268.1, 271.1, 270.1, 269.1,
    278.2, 281.2, 281.2, 285.2, 286.2, 289.2, 289.2, 293.2, 293.2, 294.2};

}  // namespace

int atomic_number(const std::string& symbol) {
    const auto found = std::find(kSymbols.begin(), kSymbols.end(), symbol);
    return found == kSymbols.end() ? 0 : static_cast<int>(found - kSymbols.begin()) + 1;
}

double atomic_weight(int atomic_number) {
    return atomic_number < 1 || atomic_number > 118 ? 0.0 : kWeights[atomic_number - 1];
}

std::string nearest_element(double weight) {
    const auto nearest = std::min_element(
        kWeights.begin(), kWeights.end(),
        [weight](double a, double b) { return std::abs(a - weight) < std::abs(b - weight); });
    return std::string(kSymbols[nearest - kWeights.begin()]);
}

}  // namespace nvalchemi
