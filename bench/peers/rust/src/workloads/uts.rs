//! SHA-1 is that of nettle, as in the C++ programs: what differs is the runtime.

use crate::Workload;
use crate::runtimes::{Forks, Groups};
use std::mem::MaybeUninit;
use std::ops::Add;

const BRANCHING: f64 = 4.0;
const SEED: u32 = 19;

#[repr(C, align(16))]
struct Sha1Context([u8; 256]); // larger than nettle's

#[link(name = "nettle")]
unsafe extern "C" {
    #[link_name = "nettle_sha1_init"]
    fn sha1_init(context: *mut Sha1Context);
    #[link_name = "nettle_sha1_update"]
    fn sha1_update(context: *mut Sha1Context, length: usize, data: *const u8);
    #[link_name = "nettle_sha1_digest"]
    fn sha1_digest(context: *mut Sha1Context, length: usize, digest: *mut u8);
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut context = MaybeUninit::uninit();
    let mut digest = [0; 20];
    // SAFETY: init makes the context valid; the lengths are those of the slices.
    unsafe {
        sha1_init(context.as_mut_ptr());
        for part in parts {
            sha1_update(context.as_mut_ptr(), part.len(), part.as_ptr());
        }
        sha1_digest(context.as_mut_ptr(), digest.len(), digest.as_mut_ptr());
    }
    digest
}

struct Node {
    state: [u8; 20],
    depth: u32,
}

impl Node {
    fn root() -> Self {
        let mut input = [0; 20];
        input[16..].copy_from_slice(&SEED.to_be_bytes());
        Self { state: sha1(&[&input]), depth: 0 }
    }
    fn child(&self, index: u32) -> Self {
        Self { state: sha1(&[&self.state, &index.to_be_bytes()]), depth: self.depth + 1 }
    }
    fn children(&self, max_depth: u32) -> u32 {
        if self.depth >= max_depth {
            return 0;
        }
        let bits = u32::from_be_bytes(self.state[16..].try_into().unwrap()) & 0x7fff_ffff;
        let p = 1.0 / (1.0 + BRANCHING);
        let u = f64::from(bits) / 2_147_483_648.0;
        ((1.0 - u).ln() / (1.0 - p).ln()).floor().min(100.0) as u32
    }
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Totals {
    nodes: u64,
    leaves: u64,
    depth: u32,
}

const T1: Totals = Totals { nodes: 4_130_071, leaves: 3_305_118, depth: 10 };

impl Add for Totals {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self {
            nodes: self.nodes + b.nodes,
            leaves: self.leaves + b.leaves,
            depth: self.depth.max(b.depth),
        }
    }
}

fn below<R: Forks>(here: &mut R::Strand<'_>, max_depth: u32, node: &Node) -> Totals {
    match node.children(max_depth) {
        0 => Totals { nodes: 1, leaves: 1, depth: node.depth },
        n => Totals { nodes: 1, leaves: 0, depth: node.depth } + children_of::<R>(here, max_depth, node, 0, n),
    }
}

fn children_of<R: Forks>(
    here: &mut R::Strand<'_>,
    max_depth: u32,
    parent: &Node,
    first: u32,
    last: u32,
) -> Totals {
    if last - first == 1 {
        return below::<R>(here, max_depth, &parent.child(first));
    }
    let middle = first + (last - first) / 2;
    let (a, b) = R::fork(
        here,
        |s| children_of::<R>(s, max_depth, parent, first, middle),
        |s| children_of::<R>(s, max_depth, parent, middle, last),
    );
    a + b
}

pub struct Uts {
    max_depth: u32,
    answer: Totals,
}

impl Workload for Uts {
    const SIZE: usize = 10;
    const WARM: usize = 6;

    fn new(levels: usize) -> Self {
        Self { max_depth: levels as u32, answer: Totals::default() }
    }
    // The totals of smaller trees are known to the C++ programs only.
    fn is_right(&self) -> bool {
        self.max_depth != 10 || self.answer == T1
    }
}

impl Uts {
    pub fn run<R: Forks>(&mut self, here: &mut R::Strand<'_>) {
        self.answer = below::<R>(here, self.max_depth, &Node::root());
    }
}

const MOST_CHILDREN: usize = 100;

fn below_by_groups<R: Groups>(max_depth: u32, node: &Node) -> Totals {
    let count = node.children(max_depth);
    if count == 0 {
        return Totals { nodes: 1, leaves: 1, depth: node.depth };
    }
    let mut room = [const { MaybeUninit::<(u32, Totals)>::uninit() }; MOST_CHILDREN];
    let children = &mut room[..count as usize];
    for (i, child) in children.iter_mut().enumerate() {
        child.write((i as u32, Totals::default()));
    }
    // SAFETY: all of them have just been written, and they need not be dropped.
    let children = unsafe { &mut *(std::ptr::from_mut(children) as *mut [(u32, Totals)]) };
    R::group(children, |(i, found)| *found = below_by_groups::<R>(max_depth, &node.child(*i)));
    let own = Totals { nodes: 1, leaves: 0, depth: node.depth };
    children.iter().fold(own, |sum, (_, found)| sum + *found)
}

/// The same tree, with a group in each node and one of its children for each child of the node.
pub struct UtsGroups(Uts);

impl Workload for UtsGroups {
    const SIZE: usize = Uts::SIZE;
    const WARM: usize = Uts::WARM;

    fn new(levels: usize) -> Self {
        Self(Uts::new(levels))
    }
    fn is_right(&self) -> bool {
        self.0.is_right()
    }
}

impl UtsGroups {
    pub fn run<R: Groups>(&mut self) {
        self.0.answer = below_by_groups::<R>(self.0.max_depth, &Node::root());
    }
}
