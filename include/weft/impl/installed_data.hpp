#pragma once

/// The directory of the installed data, DATADIR/weft. A static library cannot know where it was installed, so
/// the installed package tells its users' code, and their code tells the library: CMake by the string
/// WEFT_DATA_DIRECTORY, pkg-config by the bare path WEFT_DATA_PATH, as quotes do not survive its way.
namespace weft::impl {

#if !defined(WEFT_DATA_DIRECTORY) && defined(WEFT_DATA_PATH)
#    define WEFT_TEXT_OF(path) #path
#    define WEFT_TEXT(path) WEFT_TEXT_OF(path)
#    define WEFT_DATA_DIRECTORY WEFT_TEXT(WEFT_DATA_PATH)
#endif

#ifdef WEFT_DATA_DIRECTORY
[[gnu::used]] inline constexpr char installed_data[] = WEFT_DATA_DIRECTORY;
#else
extern const char installed_data[] __attribute__((weak)); ///< its address is null if no such code is there

inline const char* installed_data_directory() noexcept {
    const char* address = installed_data;
    asm("" : "+r"(address)); // compilers take the address of an array to be never null
    return address;
}
#endif

} // namespace weft::impl
