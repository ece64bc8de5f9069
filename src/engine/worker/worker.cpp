#include "engine/worker/worker.hpp"

#include "engine/worker/engine.hpp"

namespace weft::impl {

worker::worker(worker_id rank, weft::engine::engine& of, std::size_t workers)
    : id(rank)
    , engine(of)
    , host(of.host)
    , meter(of.meter)
    , local(rank)
    , blocks(of.blocks)
    , askers(workers + 2) {}

} // namespace weft::impl
