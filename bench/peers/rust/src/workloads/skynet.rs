use crate::Workload;
use crate::runtimes::Groups;

pub struct Skynet {
    leaves: u64,
    answer: u64,
}

fn from<R: Groups>(first: u64, count: u64) -> u64 {
    if count == 1 {
        return first;
    }
    let part = count / 10;
    let mut children: [(u64, u64); 10] = std::array::from_fn(|i| (0, first + i as u64 * part));
    R::group(&mut children, |(sum, start)| *sum = from::<R>(*start, part));
    children.iter().map(|(sum, _)| sum).sum()
}

impl Workload for Skynet {
    const SIZE: usize = 1_000_000;
    const WARM: usize = 1000;

    fn new(n: usize) -> Self {
        Self { leaves: n as u64, answer: 0 }
    }
    fn is_right(&self) -> bool {
        self.answer == self.leaves * (self.leaves - 1) / 2
    }
    fn nodes(&self) -> Option<f64> {
        Some(self.leaves as f64 * 10.0 / 9.0)
    }
}

impl Skynet {
    pub fn run<R: Groups>(&mut self) {
        self.answer = from::<R>(0, self.leaves);
    }
}
