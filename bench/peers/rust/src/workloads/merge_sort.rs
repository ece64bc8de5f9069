use super::keys::Keys;
use super::memory::touched;
use crate::Workload;
use crate::runtimes::Forks;

const LEAF: usize = 4096;
const FEW: usize = 24;

pub struct MergeSort {
    data: Keys,
    spare: Vec<u32>,
}

fn insertion_sort(a: &mut [u32]) {
    for i in 1..a.len() {
        let v = a[i];
        let mut j = i;
        while j > 0 && v < a[j - 1] {
            a[j] = a[j - 1];
            j -= 1;
        }
        a[j] = v;
    }
}

fn merge_leaf(a: &[u32], b: &[u32], out: &mut [u32]) {
    assert!(a.len() + b.len() == out.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        // SAFETY: i and j are inside, and so is their sum.
        unsafe {
            let second = b.get_unchecked(j) < a.get_unchecked(i);
            *out.get_unchecked_mut(i + j) = if second { *b.get_unchecked(j) } else { *a.get_unchecked(i) };
            j += usize::from(second);
            i += usize::from(!second);
        }
    }
    let rest = &mut out[i + j..];
    let (from_a, from_b) = rest.split_at_mut(a.len() - i);
    from_a.copy_from_slice(&a[i..]);
    from_b.copy_from_slice(&b[j..]);
}

fn merge<R: Forks>(here: &mut R::Strand<'_>, a: &[u32], b: &[u32], out: &mut [u32]) {
    if a.len() + b.len() <= LEAF {
        return merge_leaf(a, b, out);
    }
    let (a_cut, b_cut) = if a.len() >= b.len() {
        let cut = a.len() / 2;
        (cut, b.partition_point(|v| *v < a[cut]))
    } else {
        let cut = b.len() / 2;
        (a.partition_point(|v| *v <= b[cut]), cut)
    };
    let ((a_low, a_high), (b_low, b_high)) = (a.split_at(a_cut), b.split_at(b_cut));
    let (low, high) = out.split_at_mut(a_cut + b_cut);
    R::fork(here, |s| merge::<R>(s, a_low, b_low, low), |s| merge::<R>(s, a_high, b_high, high));
}

/// Sorts `values` into itself, or into `spare`; both end up overwritten.
fn sort<R: Forks>(here: &mut R::Strand<'_>, values: &mut [u32], spare: &mut [u32], into_spare: bool) {
    let n = values.len();
    if n <= FEW {
        insertion_sort(values);
        if into_spare {
            spare.copy_from_slice(values);
        }
        return;
    }
    let half = n / 2;
    let (low, high) = values.split_at_mut(half);
    let (spare_low, spare_high) = spare.split_at_mut(half);
    if n <= LEAF {
        sort::<R>(here, low, spare_low, !into_spare);
        sort::<R>(here, high, spare_high, !into_spare);
    } else {
        R::fork(
            here,
            |s| sort::<R>(s, low, spare_low, !into_spare),
            |s| sort::<R>(s, high, spare_high, !into_spare),
        );
    }
    let (from, to) = if into_spare { (values, spare) } else { (spare, values) };
    let (low, high) = from.split_at(half);
    merge::<R>(here, low, high, to);
}

impl Workload for MergeSort {
    const SIZE: usize = 10_000_000;
    const WARM: usize = 100_000;

    fn new(n: usize) -> Self {
        Self { data: Keys::new(n), spare: touched(n) }
    }
    fn is_right(&self) -> bool {
        self.data.are_sorted()
    }
}

impl MergeSort {
    pub fn run<R: Forks>(&mut self, here: &mut R::Strand<'_>) {
        sort::<R>(here, &mut self.data.values, &mut self.spare, false);
    }
}
