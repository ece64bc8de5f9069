use crate::runtimes::Forks;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

const TIMES: usize = 12;
const PATIENCE: Duration = Duration::from_millis(50);

/// Microseconds from a fork until both sides run.
pub fn measure<R: Forks>(runtime: &R) -> Vec<f64> {
    let mut us = runtime.run(|here| {
        (0..TIMES)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(20));
                let (started, both_ns) = (AtomicU32::new(0), AtomicU64::new(0));
                let began = Instant::now();
                let side = || {
                    if started.fetch_add(1, SeqCst) == 1 {
                        both_ns.store(began.elapsed().as_nanos() as u64, SeqCst);
                        return;
                    }
                    while started.load(SeqCst) < 2 && began.elapsed() < PATIENCE {}
                };
                R::fork(here, |_| side(), |_| side());
                both_ns.load(SeqCst) as f64 * 1e-3
            })
            .collect::<Vec<_>>()
    });
    us.remove(0); // the first wakes threads that may never have run
    us
}
