#include "interleaved_memory.hpp"

#include <weft/error.hpp>

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <hwloc.h>
#include <memory>
#include <type_traits>

namespace nb = nanobind;

namespace weft {
namespace {

struct topology_destroyer {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

struct bitmap_freer {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};

/// From enter() to leave(), pages that the calling thread touches first are spread over all memory nodes that it may
/// use, in turns. Linux hands the setting on to each process that the thread starts meanwhile, and to its threads.
class interleaved_memory {
public:
    void enter() {
        hwloc_topology_t raw = nullptr;
        if (hwloc_topology_init(&raw) != 0) throw error("hwloc cannot make a topology");
        topology_.reset(raw);
        before_.reset(hwloc_bitmap_alloc());
        if (hwloc_topology_load(raw) != 0) throw error("hwloc cannot read the machine's memory nodes");
        if (hwloc_get_membind(raw, before_.get(), &policy_before_, flags) != 0) fail("read");
        if (hwloc_set_membind(raw, hwloc_topology_get_topology_nodeset(raw), HWLOC_MEMBIND_INTERLEAVE,
                              flags) != 0)
            fail("change");
    }

    void leave() {
        if (hwloc_set_membind(topology_.get(), before_.get(), policy_before_, flags) != 0) fail("restore");
    }

private:
    static constexpr int flags = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;

    [[noreturn]] static void fail(const char* what) {
        throw error(fmt::format("the system does not let hwloc {} where memory is placed: {}", what,
                                std::strerror(errno)));
    }

    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, topology_destroyer> topology_;
    std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, bitmap_freer> before_;
    hwloc_membind_policy_t policy_before_ = HWLOC_MEMBIND_DEFAULT;
};

} // namespace

void bind_interleaved_memory(nb::module_& m) {
    nb::class_<interleaved_memory>(
        m, "InterleavedMemory",
        "A context: programs that this thread starts in it have their memory spread page by page over all "
        "memory nodes. Raises LibraryError if the system does not allow it.")
        .def(nb::init<>())
        .def(
            "__enter__",
            [](interleaved_memory& self) -> interleaved_memory& {
                self.enter();
                return self;
            },
            nb::rv_policy::reference)
        .def("__exit__", [](interleaved_memory& self, const nb::args&) { self.leave(); });
}

} // namespace weft
