use super::keys::Keys;
use crate::Workload;
use crate::runtimes::Loops;

pub struct LibrarySort(Keys);

impl Workload for LibrarySort {
    const SIZE: usize = 10_000_000;
    const WARM: usize = 100_000;

    fn new(n: usize) -> Self {
        Self(Keys::new(n))
    }
    fn is_right(&self) -> bool {
        self.0.are_sorted()
    }
}

impl LibrarySort {
    pub fn run<R: Loops>(&mut self) {
        R::sort(&mut self.0.values);
    }
}
