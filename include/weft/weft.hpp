#pragma once

/// All of Weft: nested parallel programs under a scheduler chosen by name.

// In front, so that errors of calls of join() and task_group::run() come by the shortest path of includes.
#include <weft/join.hpp>
#include <weft/task_group.hpp>

#include <weft/barrier.hpp>
#include <weft/block.hpp>
#include <weft/block_loops.hpp>
#include <weft/concepts.hpp>
#include <weft/condition_variable.hpp>
#include <weft/context.hpp>
#include <weft/declare.hpp>
#include <weft/error.hpp>
#include <weft/future.hpp>
#include <weft/graph.hpp>
#include <weft/hints.hpp>
#include <weft/isolate.hpp>
#include <weft/latch.hpp>
#include <weft/mutex.hpp>
#include <weft/parallel.hpp>
#include <weft/per_worker.hpp>
#include <weft/pipeline.hpp>
#include <weft/preemption_guard.hpp>
#include <weft/programs.hpp>
#include <weft/runtime.hpp>
#include <weft/scan.hpp>
#include <weft/semaphore.hpp>
#include <weft/sort.hpp>
#include <weft/teams.hpp>
#include <weft/this_task.hpp>
#include <weft/thread.hpp>
