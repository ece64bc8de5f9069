//! Memory whose pages are there before the clock runs; `vec![0; n]` leaves that to the first writes.

pub fn touched<T: Copy + Default>(n: usize) -> Vec<T> {
    let mut values = vec![T::default(); n];
    for value in &mut values {
        *std::hint::black_box(value) = T::default();
    }
    values
}
