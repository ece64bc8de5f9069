#pragma once

#include <weft/impl/graph_node.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

/// The data that a graph knows, by number as in data_versions, for policies and checks that want to see what
/// its tasks declare. It changes under the graph's lock.
class data_register {
public:
    struct entry {
        const void* address = nullptr; ///< null for a weft::datum, which is no object
        std::size_t bytes = 0;
        int home = -1; ///< memory node; -1: not known yet
    };

    static constexpr std::uint32_t most = (std::uint32_t{1} << 30) - 1;

    /// An access in one word.
    static std::uint32_t pack(std::uint32_t datum, impl::data_mode mode) noexcept {
        return datum << 2 | static_cast<std::uint32_t>(mode);
    }
    static std::uint32_t datum_of(std::uint32_t access) noexcept { return access >> 2; }
    static impl::data_mode mode_of(std::uint32_t access) noexcept {
        return static_cast<impl::data_mode>(access & 3);
    }

    void note(std::uint32_t datum, const void* address, std::size_t bytes) {
        if (datum >= all_.size()) all_.resize(datum + std::size_t{1});
        entry& e = all_[datum];
        e.address = address;
        if (bytes > e.bytes) e.bytes = bytes;
    }
    entry& operator[](std::uint32_t datum) noexcept { return all_[datum]; }
    const entry& operator[](std::uint32_t datum) const noexcept { return all_[datum]; }

private:
    std::vector<entry> all_;
};

} // namespace weft
