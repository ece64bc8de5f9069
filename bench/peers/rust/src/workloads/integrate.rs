use crate::Workload;
use crate::runtimes::Forks;

const TOLERANCE: f64 = 1e-9;

pub struct Integrate {
    to: f64,
    answer: f64,
}

fn f(x: f64) -> f64 {
    (x * x + 1.0) * x
}

fn over<R: Forks>(here: &mut R::Strand<'_>, x1: f64, y1: f64, x2: f64, y2: f64, area: f64) -> f64 {
    let half = (x2 - x1) / 2.0;
    let x0 = x1 + half;
    let y0 = f(x0);
    let left = (y1 + y0) / 2.0 * half;
    let right = (y0 + y2) / 2.0 * half;
    if (left + right - area).abs() < TOLERANCE {
        return left + right;
    }
    let (a, b) = R::fork(
        here,
        |s| over::<R>(s, x1, y1, x0, y0, left),
        |s| over::<R>(s, x0, y0, x2, y2, right),
    );
    a + b
}

impl Workload for Integrate {
    const SIZE: usize = 1000;
    const WARM: usize = 30;

    fn new(n: usize) -> Self {
        Self { to: n as f64, answer: 0.0 }
    }
    fn is_right(&self) -> bool {
        let exact = self.to * self.to * (self.to * self.to + 2.0) / 4.0;
        (self.answer / exact - 1.0).abs() < 1e-9
    }
}

impl Integrate {
    pub fn run<R: Forks>(&mut self, here: &mut R::Strand<'_>) {
        self.answer = over::<R>(here, 0.0, f(0.0), self.to, f(self.to), 0.0);
    }
}
