//! What the kernel knows of this process.

use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// CPU time of all its threads.
pub fn cpu_time() -> Duration {
    const PROCESS: i32 = 2; // CLOCK_PROCESS_CPUTIME_ID
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the layout is that of 64-bit Linux.
    unsafe { clock_gettime(PROCESS, &mut time) };
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// The most memory that it ever had (VmHWM), in MB.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or(0.0) / 1024.0
}
