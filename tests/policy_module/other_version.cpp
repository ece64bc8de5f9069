#include <cstdint>

// What a module of another version begins with; the rest is not to be read.
extern "C" {
[[gnu::visibility("default")]] extern const std::uint32_t weft_policy_module[2];
const std::uint32_t weft_policy_module[2] = {4711, 1};
}
