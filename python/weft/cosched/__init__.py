"""Several programs on one machine: which of them share a last-level cache. docs/cosched.md is the page for operators.

The decision itself and the table that programs share are of the library (`src/share`). Here is what needs the kernel:
finding the domains, reading rates, setting affinities, and the daemon that joins these.
"""
