use crate::Workload;
use crate::runtimes::Groups;

const SOLUTIONS: [u64; 17] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512];

pub struct Nqueens {
    n: u32,
    answer: u64,
}

#[derive(Clone, Copy, Default)]
struct Board {
    n: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Board {
    fn free(&self) -> u32 {
        !(self.columns | self.falling | self.rising) & ((1 << self.n) - 1)
    }
    fn with(&self, queen: u32) -> Self {
        Self {
            n: self.n,
            columns: self.columns | queen,
            falling: (self.falling | queen) << 1,
            rising: (self.rising | queen) >> 1,
        }
    }
}

fn from<R: Groups>(board: Board) -> u64 {
    if board.columns.count_ones() == board.n {
        return 1;
    }
    let mut squares = [(0, Board::default()); 16];
    let mut count = 0;
    let mut free = board.free();
    while free != 0 {
        squares[count].1 = board.with(free & free.wrapping_neg());
        count += 1;
        free &= free - 1;
    }
    R::group(&mut squares[..count], |(found, next)| *found = from::<R>(*next));
    squares[..count].iter().map(|(found, _)| found).sum()
}

impl Workload for Nqueens {
    const SIZE: usize = 13;
    const WARM: usize = 9;

    fn new(n: usize) -> Self {
        Self { n: n as u32, answer: 0 }
    }
    fn is_right(&self) -> bool {
        self.answer == SOLUTIONS[self.n as usize]
    }
}

impl Nqueens {
    pub fn run<R: Groups>(&mut self) {
        self.answer = from::<R>(Board { n: self.n, ..Board::default() });
    }
}
