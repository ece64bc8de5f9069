use crate::Workload;
use crate::runtimes::Forks;

pub struct Fib {
    n: u32,
    answer: u64,
}

fn of<R: Forks>(here: &mut R::Strand<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = R::fork(here, |s| of::<R>(s, n - 1), |s| of::<R>(s, n - 2));
    a + b
}

fn by_iteration(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

impl Workload for Fib {
    const SIZE: usize = 35;
    const WARM: usize = 25;

    fn new(n: usize) -> Self {
        Self { n: n as u32, answer: 0 }
    }
    fn is_right(&self) -> bool {
        self.answer == by_iteration(self.n)
    }
    fn nodes(&self) -> Option<f64> {
        Some((by_iteration(self.n + 1) - 1) as f64)
    }
}

impl Fib {
    pub fn run<R: Forks>(&mut self, here: &mut R::Strand<'_>) {
        self.answer = of::<R>(here, self.n);
    }
}
