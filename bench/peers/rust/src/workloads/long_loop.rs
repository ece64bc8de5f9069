use crate::Workload;
use crate::runtimes::Loops;

pub struct LongLoop(Vec<u16>);

fn value_of(i: u32) -> u16 {
    let i = i ^ (i >> 15);
    let i = i.wrapping_mul(0x2c1b_3c6d);
    (i ^ (i >> 12)) as u16
}

impl Workload for LongLoop {
    const SIZE: usize = 100_000_000;
    const WARM: usize = 100_000;

    fn new(n: usize) -> Self {
        Self(vec![1; n])
    }
    fn is_right(&self) -> bool {
        self.0.iter().enumerate().all(|(i, x)| *x == value_of(i as u32))
    }
}

impl LongLoop {
    pub fn run<R: Loops>(&mut self) {
        R::each(&mut self.0, |i, x| *x = value_of(i as u32));
    }
}
