#include "trace/walk/streams.hpp"

namespace weft::trace {

streams::streams(std::span<const record> records, int workers)
    : records_(records)
    , all_(static_cast<std::size_t>(workers) + 1) {
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::size_t s = records[i].stream;
        if (s == outside || s < this->workers())
            all_[std::min(s, this->workers())].records.push_back(static_cast<std::uint32_t>(i));
    }
}

} // namespace weft::trace
