//! chili: forks only, handed to others at a heartbeat of 100 us. The calling thread is one of its workers.

use super::Forks;
use chili::{Config, Scope, ThreadPool};
use std::num::NonZero;

pub struct Chili(ThreadPool);

impl Chili {
    pub fn new(workers: usize) -> Self {
        Self(ThreadPool::with_config(Config { thread_count: NonZero::new(workers), ..Config::default() }))
    }
}

impl Forks for Chili {
    type Strand<'s> = Scope<'s>;

    fn run<T: Send>(&self, body: impl for<'s> FnOnce(&mut Scope<'s>) -> T + Send) -> T {
        body(&mut self.0.scope())
    }

    fn fork<A: Send, B: Send>(
        here: &mut Scope<'_>,
        f: impl for<'s> FnOnce(&mut Scope<'s>) -> A + Send,
        g: impl for<'s> FnOnce(&mut Scope<'s>) -> B + Send,
    ) -> (A, B) {
        here.join(f, g)
    }
}
