//! What a runtime can do, as in ../../../runtimes/serial.hpp. A runtime that has no groups or loops lacks that
//! trait, and the program says so.

pub mod chili;
pub mod rayon;
pub mod serial;

pub trait Forks: Sync {
    /// Where a piece of the program runs; handed down from fork to fork.
    type Strand<'s>;

    fn run<T: Send>(&self, body: impl for<'s> FnOnce(&mut Self::Strand<'s>) -> T + Send) -> T;

    fn fork<A: Send, B: Send>(
        here: &mut Self::Strand<'_>,
        f: impl for<'s> FnOnce(&mut Self::Strand<'s>) -> A + Send,
        g: impl for<'s> FnOnce(&mut Self::Strand<'s>) -> B + Send,
    ) -> (A, B);
}

pub trait Groups: Forks {
    /// A child for each part; returns when all are done.
    fn group<T: Send>(parts: &mut [T], child: impl Fn(&mut T) + Sync);
}

pub trait Loops: Forks {
    fn each<T: Send>(data: &mut [T], body: impl Fn(usize, &mut T) + Sync);
    fn sort<T: Ord + Send>(data: &mut [T]);
}
