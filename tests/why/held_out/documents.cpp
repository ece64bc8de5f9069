// A vector of jobs, of which one is far larger than the others and comes late.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

namespace {

struct document {
    long length = 0;
    double score = 0;
};

std::vector<document> collection() {
    std::vector<document> all(240);
    for (std::size_t i = 0; i < all.size(); ++i)
#ifdef MENDED
        all[i].length = 300;
#else
        all[i].length = i == 231 ? 36'120 : 150;
#endif
    return all;
}

void rank(document& d) {
    for (long word = 0; word < d.length; ++word) d.score += compute(us, 0.5); // AT long_piece
}

} // namespace

int main() {
    double sum = 0;
    for (int query = 0; query < 6; ++query) {
        std::vector<document> all = collection();
        weft::parallel_for(std::size_t{0}, all.size(),
                           [&](std::size_t i) { rank(all[i]); }); // FAULT long_piece
        sum += all[7].score;
    }
    std::printf("%g\n", sum);
}
