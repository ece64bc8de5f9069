#include <weft/weft.hpp>

#include <cctype>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

/// Splits the lines of a text into words, counts these, and prints the lines with their numbers of words.
int main() {
    std::istringstream text("to be or not to be\nthat is the question\nto sleep\n");
    std::map<std::string, int> count;
    using words = std::vector<std::string>;

    weft::pipeline lines(
        weft::stage::serial([&]() -> std::optional<std::string> { // one at a time; nullopt ends the input
            std::string line;
            return std::getline(text, line) ? std::optional(line) : std::nullopt;
        }),
        weft::stage::parallel([](std::string& line) { // returns void: the item itself goes on
            for (char& c : line) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        }),
        weft::stage::parallel(
            [](const std::string& line) { // makes another item
                std::istringstream in(line);
                words found;
                for (std::string w; in >> w;) found.push_back(w);
                return found;
            },
            {.name = "split"}),
        weft::stage::serial([&](const words& all) { // one at a time, so `count` needs no lock
            for (const auto& w : all) ++count[w];
        }),
        weft::stage::serial_in_order(
            [n = 0](words all) mutable { std::printf("line %d: %zu words\n", ++n, all.size()); }));

    lines.run(8); // at most 8 lines are on their way at a time
    std::printf("TO: %d, BE: %d\n", count["TO"], count["BE"]);
}
