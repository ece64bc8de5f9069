use super::keys::random_at;
use super::memory::touched;
use crate::Workload;
use crate::runtimes::Forks;
use std::slice::{from_raw_parts, from_raw_parts_mut};

const LEAF: usize = 64;

pub struct Matmul {
    n: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

/// Corners of three blocks of rows of `stride`, and the sizes m x n += m x k * k x n.
#[derive(Clone, Copy)]
struct Product {
    a: *const f64,
    b: *const f64,
    c: *mut f64,
    m: usize,
    n: usize,
    k: usize,
    stride: usize,
}

// SAFETY: two products that run at the same time have different blocks of C.
unsafe impl Send for Product {}
unsafe impl Sync for Product {}

fn multiply_leaf(p: &Product) {
    for i in 0..p.m {
        // SAFETY: rows of the three blocks, which do not overlap.
        let (a, c) = unsafe {
            (from_raw_parts(p.a.add(i * p.stride), p.k), from_raw_parts_mut(p.c.add(i * p.stride), p.n))
        };
        let row = |l: usize| unsafe { from_raw_parts(p.b.add(l * p.stride), p.n) };
        let mut l = 0;
        while l + 4 <= p.k {
            let (b0, b1, b2, b3) = (row(l), row(l + 1), row(l + 2), row(l + 3));
            for j in 0..p.n {
                c[j] += (a[l] * b0[j] + a[l + 1] * b1[j]) + (a[l + 2] * b2[j] + a[l + 3] * b3[j]);
            }
            l += 4;
        }
        for l in l..p.k {
            let b0 = row(l);
            for j in 0..p.n {
                c[j] += a[l] * b0[j];
            }
        }
    }
}

fn multiply<R: Forks>(here: &mut R::Strand<'_>, p: Product) {
    if p.m <= LEAF && p.n <= LEAF && p.k <= LEAF {
        return multiply_leaf(&p);
    }
    let (mut x, mut y) = (p, p);
    // SAFETY: the corners of the second halves are inside of the blocks.
    unsafe {
        if p.k > p.m && p.k > p.n {
            x.k = p.k / 2;
            y.k = p.k - x.k;
            y.a = y.a.add(x.k);
            y.b = y.b.add(x.k * p.stride);
            multiply::<R>(here, x);
            return multiply::<R>(here, y);
        }
        if p.m >= p.n {
            x.m = p.m / 2;
            y.m = p.m - x.m;
            y.a = y.a.add(x.m * p.stride);
            y.c = y.c.add(x.m * p.stride);
        } else {
            x.n = p.n / 2;
            y.n = p.n - x.n;
            y.b = y.b.add(x.n);
            y.c = y.c.add(x.n);
        }
    }
    let (x, y) = (&x, &y);
    R::fork(here, |s| multiply::<R>(s, *x), |s| multiply::<R>(s, *y));
}

impl Workload for Matmul {
    const SIZE: usize = 1024;
    const WARM: usize = 128;

    fn new(n: usize) -> Self {
        let whole = |seed| (0..n * n).map(|i| (random_at(seed, i as u64) % 17) as f64 - 8.0).collect();
        Self { n, a: whole(1), b: whole(2), c: touched(n * n) }
    }
    fn is_right(&self) -> bool {
        let n = self.n;
        [0, n - 1].into_iter().all(|i| {
            (0..n).all(|j| {
                let sum: f64 = (0..n).map(|k| self.a[i * n + k] * self.b[k * n + j]).sum();
                sum == self.c[i * n + j]
            })
        })
    }
}

impl Matmul {
    pub fn run<R: Forks>(&mut self, here: &mut R::Strand<'_>) {
        let n = self.n;
        let (a, b, c) = (self.a.as_ptr(), self.b.as_ptr(), self.c.as_mut_ptr());
        multiply::<R>(here, Product { a, b, c, m: n, n, k: n, stride: n });
    }
}
