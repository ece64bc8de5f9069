//! One workload on one runtime, measured once, as ../../main.cpp does it.
//!   runtime=serial|rayon|chili workload=fib workers=1 n=SIZE

mod process;
mod runtimes;
mod workloads;

use runtimes::{Forks, Groups, Loops, chili::Chili, rayon::Rayon, serial::Serial};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use workloads::{spawn_loop::SpawnLoop, *};

pub trait Workload: Send {
    const SIZE: usize;
    const WARM: usize;
    fn new(n: usize) -> Self;
    fn is_right(&self) -> bool;
    fn nodes(&self) -> Option<f64> {
        None
    }
}

struct Given {
    runtime: String,
    workload: String,
    workers: usize,
    n: Option<usize>,
    warm: bool,
}

fn arguments() -> Result<Given, String> {
    let mut given =
        Given { runtime: "serial".into(), workload: "fib".into(), workers: 1, n: None, warm: true };
    for word in std::env::args().skip(1) {
        let (key, value) = word.split_once('=').ok_or(format!("'{word}' is not key=value"))?;
        let number = || value.parse::<usize>().map_err(|_| format!("{word}: not a number"));
        match key {
            "runtime" => given.runtime = value.into(),
            "workload" => given.workload = value.into(),
            "workers" => given.workers = number()?,
            "n" => given.n = Some(number()?),
            "warm" => given.warm = number()? != 0,
            _ => return Err(format!("unknown argument '{key}'; allowed: runtime workload workers n warm")),
        }
    }
    Ok(given)
}

/// What callgrind counts.
#[inline(never)]
fn counted_region(work: impl FnOnce()) {
    work();
}

type Answer = Result<(bool, String), String>;

fn timed<R: Forks, W: Workload>(
    runtime: &R,
    given: &Given,
    run: impl Fn(&mut W, &mut R::Strand<'_>) + Sync,
) -> Answer {
    let once = |work: &mut W| runtime.run(|here| counted_region(|| run(work, here)));
    let mut right = true;
    if given.warm {
        let mut small = W::new(W::WARM);
        once(&mut small);
        right = small.is_right();
    }
    let mut work = W::new(given.n.unwrap_or(W::SIZE));
    let began = Instant::now();
    once(&mut work);
    let seconds = began.elapsed().as_secs_f64();
    let mb = process::peak_mb();
    right &= work.is_right();
    let nodes = work.nodes().map_or(String::new(), |n| format!(", \"nodes\": {n}"));
    Ok((right, format!("\"seconds\": {seconds:.6e}, \"mb\": {mb:.6}{nodes}")))
}

fn idle<R: Forks>(runtime: &R) -> Answer {
    let mut last = fib::Fib::new(27);
    runtime.run(|here| last.run::<R>(here));
    std::thread::sleep(Duration::from_millis(100));
    let (cpu, wall) = (process::cpu_time(), Instant::now());
    std::thread::sleep(Duration::from_millis(500));
    let percent = 100.0 * (process::cpu_time() - cpu).as_secs_f64() / wall.elapsed().as_secs_f64();
    Ok((last.is_right(), format!("\"percent\": {percent:.6}")))
}

fn with_forks<R: Forks>(runtime: &R, given: &Given) -> Answer {
    match given.workload.as_str() {
        "fib" => timed(runtime, given, |w: &mut fib::Fib, here| w.run::<R>(here)),
        "integrate" => timed(runtime, given, |w: &mut integrate::Integrate, here| w.run::<R>(here)),
        "nqueens" => timed(runtime, given, |w: &mut nqueens::Nqueens, here| w.run::<R>(here)),
        "uts" => timed(runtime, given, |w: &mut uts::Uts, here| w.run::<R>(here)),
        "matmul" => timed(runtime, given, |w: &mut matmul::Matmul, here| w.run::<R>(here)),
        "merge_sort" => timed(runtime, given, |w: &mut merge_sort::MergeSort, here| w.run::<R>(here)),
        "wake" => Ok((true, format!("\"us\": {:?}", wake::measure(runtime)))),
        "idle" => idle(runtime),
        other => Err(format!("workload={other} is unknown")),
    }
}

fn with_groups_and_loops<R: Groups + Loops>(runtime: &R, given: &Given) -> Answer {
    match given.workload.as_str() {
        "skynet" => timed(runtime, given, |w: &mut skynet::Skynet, _| w.run::<R>()),
        "spawns_100ns" => timed(runtime, given, |w: &mut SpawnLoop<spawn_loop::Of100Ns>, _| w.run::<R>()),
        "spawns_1us" => timed(runtime, given, |w: &mut SpawnLoop<spawn_loop::Of1Us>, _| w.run::<R>()),
        "spawns_20us" => timed(runtime, given, |w: &mut SpawnLoop<spawn_loop::Of20Us>, _| w.run::<R>()),
        "spawns_100us" => timed(runtime, given, |w: &mut SpawnLoop<spawn_loop::Of100Us>, _| w.run::<R>()),
        "spawns_nested" => timed(runtime, given, |w: &mut spawn_loop::SpawnNested, _| w.run::<R>()),
        "uts_groups" => timed(runtime, given, |w: &mut uts::UtsGroups, _| w.run::<R>()),
        "spawns_uneven" => timed(runtime, given, |w: &mut SpawnLoop<spawn_loop::Uneven>, _| w.run::<R>()),
        "library_sort" => timed(runtime, given, |w: &mut library_sort::LibrarySort, _| w.run::<R>()),
        "long_loop" => timed(runtime, given, |w: &mut long_loop::LongLoop, _| w.run::<R>()),
        "short_loops" => timed(runtime, given, |w: &mut short_loops::ShortLoops, _| w.run::<R>()),
        "uneven_loop" => timed(runtime, given, |w: &mut uneven_loop::UnevenLoop, _| w.run::<R>()),
        _ => with_forks(runtime, given),
    }
}

fn with_forks_only<R: Forks>(runtime: &R, given: &Given) -> Answer {
    let absent = |what| Ok((true, format!("\"absent\": \"no {what}\"")));
    match given.workload.as_str() {
        "skynet" | "uts_groups" => absent("task groups"),
        loop_of_spawns if loop_of_spawns.starts_with("spawns_") => absent("task groups"),
        "library_sort" => absent("library sort"),
        "long_loop" | "short_loops" | "uneven_loop" => absent("loops"),
        _ => with_forks(runtime, given),
    }
}

fn main() -> ExitCode {
    let answer = arguments().and_then(|given| match given.runtime.as_str() {
        "serial" => with_groups_and_loops(&Serial, &given),
        "rayon" => with_groups_and_loops(&Rayon::new(given.workers), &given),
        "chili" => with_forks_only(&Chili::new(given.workers), &given),
        other => Err(format!("runtime={other}; allowed: serial rayon chili")),
    });
    match answer {
        Ok((right, values)) => {
            println!("{{\"right\": {right}, {values}}}");
            ExitCode::from(u8::from(!right))
        }
        Err(what) => {
            eprintln!("peers: {what}");
            ExitCode::from(2)
        }
    }
}
