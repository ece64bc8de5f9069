//! rayon: a pool of its own size.

use super::{Forks, Groups, Loops};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

pub struct Rayon(ThreadPool);

impl Rayon {
    pub fn new(workers: usize) -> Self {
        Self(ThreadPoolBuilder::new().num_threads(workers).build().expect("threads for rayon"))
    }
}

impl Forks for Rayon {
    type Strand<'s> = ();

    fn run<T: Send>(&self, body: impl for<'s> FnOnce(&mut ()) -> T + Send) -> T {
        self.0.install(|| body(&mut ()))
    }

    fn fork<A: Send, B: Send>(
        _: &mut (),
        f: impl FnOnce(&mut ()) -> A + Send,
        g: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        rayon::join(|| f(&mut ()), || g(&mut ()))
    }
}

impl Groups for Rayon {
    fn group<T: Send>(parts: &mut [T], child: impl Fn(&mut T) + Sync) {
        let child = &child;
        rayon::scope(|s| {
            for part in parts {
                s.spawn(move |_| child(part));
            }
        });
    }
}

impl Loops for Rayon {
    fn each<T: Send>(data: &mut [T], body: impl Fn(usize, &mut T) + Sync) {
        data.par_iter_mut().enumerate().for_each(|(i, x)| body(i, x));
    }

    fn sort<T: Ord + Send>(data: &mut [T]) {
        data.par_sort_unstable();
    }
}
