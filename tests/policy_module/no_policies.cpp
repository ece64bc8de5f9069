#include <weft/policy/module.hpp>

extern "C" {
[[gnu::visibility("default")]] extern const weft::policy_module weft_policy_module;
const weft::policy_module weft_policy_module = {weft::policy_abi, 0, weft::layout_of_policies(), nullptr,
                                                &weft::host_of_this_module};
}
