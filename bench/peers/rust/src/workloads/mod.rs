//! The same programs as in ../../../workloads, step by step.

pub mod fib;
pub mod integrate;
pub mod keys;
pub mod library_sort;
pub mod long_loop;
pub mod matmul;
pub mod memory;
pub mod merge_sort;
pub mod nqueens;
pub mod short_loops;
pub mod skynet;
pub mod spawn_loop;
pub mod uneven_loop;
pub mod uts;
pub mod wake;
