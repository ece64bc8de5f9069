#include <weft/impl/deadlock_scope.hpp>

#include <utility>

namespace weft::impl {

namespace {

thread_local deadlock_scope::handler of_this_thread;

} // namespace

deadlock_scope::deadlock_scope(handler h) : outer_(std::exchange(of_this_thread, std::move(h))) {}

deadlock_scope::~deadlock_scope() { of_this_thread = std::move(outer_); }

deadlock_scope::handler deadlock_scope::current() { return of_this_thread; }

} // namespace weft::impl
