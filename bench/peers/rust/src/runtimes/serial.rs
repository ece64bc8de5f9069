//! The plain program.

use super::{Forks, Groups, Loops};

pub struct Serial;

impl Forks for Serial {
    type Strand<'s> = ();

    fn run<T: Send>(&self, body: impl for<'s> FnOnce(&mut ()) -> T + Send) -> T {
        body(&mut ())
    }

    fn fork<A: Send, B: Send>(
        here: &mut (),
        f: impl FnOnce(&mut ()) -> A + Send,
        g: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        (f(here), g(here))
    }
}

impl Groups for Serial {
    fn group<T: Send>(parts: &mut [T], child: impl Fn(&mut T) + Sync) {
        parts.iter_mut().for_each(child);
    }
}

impl Loops for Serial {
    fn each<T: Send>(data: &mut [T], body: impl Fn(usize, &mut T) + Sync) {
        data.iter_mut().enumerate().for_each(|(i, x)| body(i, x));
    }

    fn sort<T: Ord + Send>(data: &mut [T]) {
        data.sort_unstable();
    }
}
