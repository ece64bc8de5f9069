use crate::Workload;
use crate::runtimes::Groups;
use crate::workloads::uneven_loop::after;

/// How much the child i computes; a step takes about 2 ns.
pub trait Shape: Send {
    const SIZE: usize;
    fn steps(i: usize) -> usize;
}

pub struct Of100Ns;
pub struct Of1Us;
pub struct Of20Us;
pub struct Of100Us;
/// 1 us on average: one child in 64 has half of all the work.
pub struct Uneven;

impl Shape for Of100Ns {
    const SIZE: usize = 200_000;
    fn steps(_: usize) -> usize {
        50
    }
}
impl Shape for Of1Us {
    const SIZE: usize = 50_000;
    fn steps(_: usize) -> usize {
        500
    }
}
impl Shape for Of20Us {
    const SIZE: usize = 5_000;
    fn steps(_: usize) -> usize {
        10_000
    }
}
impl Shape for Of100Us {
    const SIZE: usize = 1_000;
    fn steps(_: usize) -> usize {
        50_000
    }
}
impl Shape for Uneven {
    const SIZE: usize = 50_000;
    fn steps(i: usize) -> usize {
        if i % 64 == 0 { 16_000 } else { 254 }
    }
}

/// One task that adds many short children to a group in a loop.
pub struct SpawnLoop<S> {
    out: Vec<(usize, u64)>,
    shape: std::marker::PhantomData<S>,
}

/// Not inlined, or the serial program would compute several children at once, by vector instructions.
#[inline(never)]
fn child<S: Shape>(i: usize) -> u64 {
    after(S::steps(i), i as u64 + 1)
}

impl<S: Shape> Workload for SpawnLoop<S> {
    const SIZE: usize = S::SIZE;
    const WARM: usize = 500;

    fn new(n: usize) -> Self {
        Self { out: (0..n).map(|i| (i, 0)).collect(), shape: std::marker::PhantomData }
    }
    fn is_right(&self) -> bool {
        self.out.iter().step_by(97).all(|&(i, x)| x == child::<S>(i))
    }
    fn nodes(&self) -> Option<f64> {
        Some(self.out.len() as f64)
    }
}

impl<S: Shape> SpawnLoop<S> {
    pub fn run<R: Groups>(&mut self) {
        R::group(&mut self.out, |(i, x)| *x = child::<S>(*i));
    }
}

/// 250 children of 1 us in each group, and a group of the tasks that add them.
pub struct SpawnNested(SpawnLoop<Of1Us>);

const IN_A_GROUP: usize = 250;

impl Workload for SpawnNested {
    const SIZE: usize = Of1Us::SIZE;
    const WARM: usize = 500;

    fn new(n: usize) -> Self {
        Self(SpawnLoop::new(n))
    }
    fn is_right(&self) -> bool {
        self.0.is_right()
    }
    fn nodes(&self) -> Option<f64> {
        self.0.nodes()
    }
}

impl SpawnNested {
    pub fn run<R: Groups>(&mut self) {
        let mut parts: Vec<_> = self.0.out.chunks_mut(IN_A_GROUP).collect();
        R::group(&mut parts, |part| R::group(part, |(i, x)| *x = child::<Of1Us>(*i)));
    }
}
