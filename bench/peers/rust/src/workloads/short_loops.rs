use crate::Workload;
use crate::runtimes::Loops;
use std::hint::black_box;

const ELEMENTS: usize = 10_000;

pub struct ShortLoops {
    n: i32,
    data: Vec<i32>,
}

impl Workload for ShortLoops {
    const SIZE: usize = 5000;
    const WARM: usize = 50;

    fn new(n: usize) -> Self {
        Self { n: n as i32, data: vec![0; ELEMENTS] }
    }
    fn is_right(&self) -> bool {
        self.data.iter().all(|d| *d == self.n)
    }
    fn nodes(&self) -> Option<f64> {
        Some(f64::from(self.n))
    }
}

impl ShortLoops {
    pub fn run<R: Loops>(&mut self) {
        for _ in 0..self.n {
            R::each(&mut self.data, |_, x| *x += 1);
            black_box(&mut self.data); // a loop is one, not a part of the next
        }
    }
}
