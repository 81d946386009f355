//! Real-time priority for a thread that must wake on time, where the operator allows it.

use std::io;

/// Under what priority a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPriority {
    /// As everybody does.
    Ordinary,
    /// `SCHED_FIFO`: before all threads without real-time priority.
    Fifo,
}

/// Holds a thread's priority and the exactness of its sleeps, and gives both back.
///
/// Kept to one thread: it is that of the thread that made it.
#[derive(Debug)]
pub struct PriorityGuard {
    priority: ThreadPriority,
    of_this_thread: std::marker::PhantomData<*const ()>,
}

impl PriorityGuard {
    /// Stay at ordinary priority, and have sleeps end when they should.
    #[must_use]
    pub fn ordinary() -> Self {
        Self::with(ThreadPriority::Ordinary)
    }

    /// Ask for `SCHED_FIFO` at its lowest level. Without the right to it the thread goes on as
    /// before; [`PriorityGuard::priority`] has it.
    #[must_use]
    pub fn fifo_where_allowed() -> Self {
        let priority = if set_scheduler(libc::SCHED_FIFO, LEVEL).is_ok() {
            ThreadPriority::Fifo
        } else {
            ThreadPriority::Ordinary
        };
        Self::with(priority)
    }

    fn with(priority: ThreadPriority) -> Self {
        // Sleeps of ordinary threads are rounded by their timer slack of 50 us; that of real-time
        // threads is 0 anyway.
        set_timer_slack_ns(1);
        Self { priority, of_this_thread: std::marker::PhantomData }
    }

    /// What it got.
    #[must_use]
    pub fn priority(&self) -> ThreadPriority {
        self.priority
    }
}

impl Drop for PriorityGuard {
    fn drop(&mut self) {
        if self.priority == ThreadPriority::Fifo {
            set_scheduler(libc::SCHED_OTHER, 0)
                .expect("lowering one's own priority is always allowed");
        }
        set_timer_slack_ns(0); // the default again
    }
}

/// Let the calling thread have ordinary priority, whatever the one that made it has.
///
/// # Panics
/// Never: lowering one's own priority is always allowed.
pub fn become_ordinary() {
    set_scheduler(libc::SCHED_OTHER, 0).expect("lowering one's own priority is always allowed");
}

/// Do something at ordinary priority, then go on at the priority of before.
///
/// # Panics
/// If the right to a real-time priority that the thread has is taken away meanwhile.
pub(crate) fn while_ordinary(act: impl FnOnce()) {
    let is_fifo = scheduler() == libc::SCHED_FIFO;
    if is_fifo {
        set_scheduler(libc::SCHED_OTHER, 0).expect("lowering one's own priority is always allowed");
    }
    act();
    if is_fifo {
        set_scheduler(libc::SCHED_FIFO, LEVEL)
            .expect("a thread that had real-time priority has the right to it");
    }
}

/// The lowest level of real-time priority.
const LEVEL: i32 = 1;

#[expect(unsafe_code, reason = "no safe wrapper reads the scheduler")]
fn scheduler() -> i32 {
    // SAFETY: 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) }
}

#[expect(unsafe_code, reason = "no safe wrapper sets the scheduler")]
fn set_scheduler(policy: i32, level: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: level };
    // SAFETY: 0 is the calling thread, and `param` lives through the call.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[expect(unsafe_code, reason = "no safe wrapper sets the timer slack")]
fn set_timer_slack_ns(slack_ns: libc::c_ulong) {
    // SAFETY: takes a number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_is_given_back() {
        let guard = PriorityGuard::fifo_where_allowed();
        let expected = if guard.priority() == ThreadPriority::Fifo {
            libc::SCHED_FIFO
        } else {
            libc::SCHED_OTHER
        };
        assert_eq!(scheduler(), expected);
        let mut meanwhile = None;
        while_ordinary(|| meanwhile = Some(scheduler()));
        assert_eq!((meanwhile, scheduler()), (Some(libc::SCHED_OTHER), expected));
        drop(guard);
        assert_eq!(scheduler(), libc::SCHED_OTHER);
    }
}
