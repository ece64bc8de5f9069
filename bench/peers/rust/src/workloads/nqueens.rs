use crate::Workload;
use crate::runtimes::Forks;

const SOLUTIONS: [u64; 17] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512];

pub struct Nqueens {
    n: u32,
    answer: u64,
}

#[derive(Clone, Copy)]
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

fn from<R: Forks>(here: &mut R::Strand<'_>, board: Board) -> u64 {
    if board.columns.count_ones() == board.n {
        return 1;
    }
    with_one_of::<R>(here, &board, board.free())
}

fn with_one_of<R: Forks>(here: &mut R::Strand<'_>, board: &Board, squares: u32) -> u64 {
    if squares == 0 {
        return 0;
    }
    let others = squares & (squares - 1);
    let next = board.with(squares & squares.wrapping_neg());
    if others == 0 {
        return from::<R>(here, next);
    }
    let (a, rest) =
        R::fork(here, |s| from::<R>(s, next), |s| with_one_of::<R>(s, board, others));
    a + rest
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
    pub fn run<R: Forks>(&mut self, here: &mut R::Strand<'_>) {
        let empty = Board { n: self.n, columns: 0, falling: 0, rising: 0 };
        self.answer = from::<R>(here, empty);
    }
}
