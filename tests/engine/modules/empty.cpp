// All of this library comes from an archive.
