extern "C" [[gnu::visibility("default")]] int something_else() { return 1; }
