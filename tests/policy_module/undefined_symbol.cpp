void a_function_that_is_not_defined();

extern "C" [[gnu::visibility("default")]] void calls_it() { a_function_that_is_not_defined(); }
