//! How roles wait for arrivals.

use crate::port::ReceiveWait;

/// How a role waits for what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveMode {
    /// It asks again and again: fastest, and takes a whole processor.
    Spinning,
    /// It sleeps until something comes.
    Sleeping,
    /// It sleeps for a while, then takes what has come meanwhile: cheapest for all, since no
    /// process is woken for each frame. Times of arrival are then right only if the kernel stamps
    /// them. Roles that answer sleep instead.
    Collecting,
}

impl ReceiveMode {
    /// The longest wait after which the stop flag is looked at again.
    pub(super) const LONGEST_WAIT: ReceiveWait = ReceiveWait::Milliseconds(20);

    pub(super) const fn wait(self) -> ReceiveWait {
        match self {
            Self::Spinning => ReceiveWait::No,
            Self::Sleeping | Self::Collecting => Self::LONGEST_WAIT,
        }
    }
}
