//! What a machine of medium access is asked, and what it answers.

use crate::time::Span;

/// What follows a step of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Nothing until the next event.
    Nothing,
    /// It decides to start its frame: [`Access::start`], and [`Access::send`] after the turnaround
    /// time.
    Start,
    /// [`Access::timer_over`] of this timer, after a time.
    Timer {
        /// Number of the timer; a later number replaces an earlier one.
        number: u64,
        /// From now.
        after: Span,
    },
}

/// Medium access of one station.
pub trait Access {
    /// A frame, or its next attempt, is ready.
    fn ready(&mut self) -> Next;

    /// It has decided to start; its first bit leaves after the turnaround time.
    fn start(&mut self);

    /// It would start, but the frame is no longer to be sent, and no other is there yet.
    fn withdraw(&mut self);

    /// The first bit of a transmission leaves. Whether the station hears another, so that it
    /// collides at once.
    #[must_use]
    fn send(&mut self, transmission: usize) -> bool;

    /// Another transmission begins to be heard. Its own transmission with which it collides, if it
    /// sends and detects collisions.
    #[must_use]
    fn carrier_on(&mut self) -> Option<usize>;

    /// Another transmission is no longer heard.
    fn carrier_off(&mut self) -> Next;

    /// Its own transmission is over.
    fn send_over(&mut self) -> Next;

    /// The timer `number` is over.
    fn timer_over(&mut self, number: u64) -> Next;
}

impl<M: Access + ?Sized> Access for Box<M> {
    fn ready(&mut self) -> Next {
        (**self).ready()
    }

    fn start(&mut self) {
        (**self).start();
    }

    fn withdraw(&mut self) {
        (**self).withdraw();
    }

    fn send(&mut self, transmission: usize) -> bool {
        (**self).send(transmission)
    }

    fn carrier_on(&mut self) -> Option<usize> {
        (**self).carrier_on()
    }

    fn carrier_off(&mut self) -> Next {
        (**self).carrier_off()
    }

    fn send_over(&mut self) -> Next {
        (**self).send_over()
    }

    fn timer_over(&mut self, number: u64) -> Next {
        (**self).timer_over(number)
    }
}
