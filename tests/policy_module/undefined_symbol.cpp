void a_function_that_nobody_defines();

extern "C" [[gnu::visibility("default")]] void calls_it() { a_function_that_nobody_defines(); }
