//! Real-time priority for a thread that must wake on time, where the operator allows it. Threads and
//! processes that such a thread starts do not inherit it.

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
        Self::fifo(LEVEL)
    }

    /// Ask for `SCHED_FIFO` above the level of [`PriorityGuard::fifo_where_allowed`]: for a thread
    /// that renews leases or answers renewals, which must not wait for roles. Without the right to
    /// it the thread goes on as before.
    #[must_use]
    pub fn above_roles_where_allowed() -> Self {
        Self::fifo(LEVEL + 1)
    }

    fn fifo(level: i32) -> Self {
        Self::with(match set_scheduler(libc::SCHED_FIFO, level) {
            Ok(()) => ThreadPriority::Fifo,
            Err(_) => ThreadPriority::Ordinary,
        })
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

/// The lowest level of real-time priority, that of roles.
const LEVEL: i32 = 1;

#[expect(unsafe_code, reason = "no safe wrapper reads the scheduler")]
fn scheduler() -> i32 {
    // SAFETY: 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    policy & !libc::SCHED_RESET_ON_FORK
}

#[expect(unsafe_code, reason = "no safe wrapper sets the scheduler")]
fn set_scheduler(policy: i32, level: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: level };
    // The flag stays at ordinary priority, too: only the privileged may take it back.
    let policy = policy | libc::SCHED_RESET_ON_FORK;
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

    #[test]
    fn a_thread_does_not_inherit_the_priority_of_the_one_that_starts_it() {
        for guard in [PriorityGuard::fifo_where_allowed, PriorityGuard::above_roles_where_allowed] {
            let guard = guard();
            let inherited = std::thread::spawn(scheduler).join().expect("a thread");
            assert_eq!(inherited, libc::SCHED_OTHER, "started by {guard:?}");
        }
    }
}
