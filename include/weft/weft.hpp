#pragma once

/// All of Weft: nested parallel programs under a scheduler chosen by name.
#include <weft/context.hpp>
#include <weft/declare.hpp>
#include <weft/error.hpp>
#include <weft/hints.hpp>
#include <weft/join.hpp>
#include <weft/parallel.hpp>
#include <weft/runtime.hpp>
#include <weft/task_group.hpp>
