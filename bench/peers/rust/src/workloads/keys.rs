//! What the sorts sort, and whether they did.

pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

pub fn random_at(seed: u64, i: u64) -> u64 {
    mix(mix(seed).wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

pub struct Keys {
    pub values: Vec<u32>,
    before: u64,
}

impl Keys {
    pub fn new(n: usize) -> Self {
        let values: Vec<u32> = (0..n).map(|i| random_at(1, i as u64) as u32).collect();
        let before = hash(&values);
        Self { values, before }
    }
    pub fn are_sorted(&self) -> bool {
        hash(&self.values) == self.before && self.values.is_sorted()
    }
}

fn hash(values: &[u32]) -> u64 {
    values.iter().fold(0, |sum: u64, v| sum.wrapping_add(mix(u64::from(*v))))
}
