use crate::Workload;
use crate::runtimes::Loops;

pub struct UnevenLoop(Vec<u64>);

pub fn after(steps: usize, start: u64) -> u64 {
    let mut x = start;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

impl Workload for UnevenLoop {
    const SIZE: usize = 10_000;
    const WARM: usize = 500;

    fn new(n: usize) -> Self {
        Self(vec![0; n])
    }
    fn is_right(&self) -> bool {
        self.0.iter().enumerate().step_by(97).all(|(i, x)| *x == after(i, i as u64 + 1))
    }
}

impl UnevenLoop {
    pub fn run<R: Loops>(&mut self) {
        R::each(&mut self.0, |i, x| *x = after(i, i as u64 + 1));
    }
}
