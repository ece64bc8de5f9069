#include <weft/policy/module.hpp>

// As a compiler would make it for which something has another size.
extern "C" {
[[gnu::visibility("default")]] extern const weft::policy_module weft_policy_module;
const weft::policy_module weft_policy_module = {weft::policy_abi, 1, {1, 1}, nullptr, nullptr};
}
