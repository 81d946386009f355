//! Numbers of the parts of a scenario, from 0 on. Each kind has a type, so that none is taken for
//! another; slices and vectors are indexed by them.

use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// How a number is stored.
trait Stored: Copy {
    fn store(number: u32) -> Self;
    fn load(self) -> u32;
}

impl Stored for u32 {
    #[inline]
    fn store(number: u32) -> Self {
        number
    }

    #[inline]
    fn load(self) -> u32 {
        self
    }
}

/// One more than the number, so that an option of it is as small.
impl Stored for NonZeroU32 {
    #[inline]
    fn store(number: u32) -> Self {
        Self::MIN.saturating_add(number)
    }

    #[inline]
    fn load(self) -> u32 {
        self.get() - 1
    }
}

/// Types of numbers.
macro_rules! identities {
    ($($(#[$doc:meta])* $name:ident($stored:ty))*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($stored);

        impl $name {
            /// The one with this number.
            ///
            /// # Panics
            /// If the number has more than 32 bits: scenarios are checked to be far smaller.
            #[inline]
            #[must_use]
            pub fn new(number: usize) -> Self {
                Self::from(u32::try_from(number).expect("scenarios are far smaller"))
            }

            /// Its number.
            #[inline]
            #[must_use]
            pub fn index(self) -> usize {
                self.number() as usize
            }

            /// Its number, as scenarios and streams of draws have it.
            #[inline]
            #[must_use]
            pub fn number(self) -> u32 {
                self.0.load()
            }

            /// So many, from one on.
            #[inline]
            pub fn range(first: usize, count: usize) -> impl Iterator<Item = Self> {
                (Self::new(first).number()..Self::new(first + count).number()).map(Self::from)
            }

            /// The first ones, so many.
            #[inline]
            pub fn first(count: usize) -> impl ExactSizeIterator<Item = Self> + Clone + use<> {
                (0..Self::new(count).number()).map(Self::from)
            }
        }

        impl From<u32> for $name {
            #[inline]
            fn from(number: u32) -> Self {
                Self(Stored::store(number))
            }
        }

        impl<T> Index<$name> for [T] {
            type Output = T;

            #[inline]
            fn index(&self, identity: $name) -> &T {
                &self[identity.index()]
            }
        }

        impl<T> IndexMut<$name> for [T] {
            #[inline]
            fn index_mut(&mut self, identity: $name) -> &mut T {
                &mut self[identity.index()]
            }
        }

        impl<T> Index<$name> for Vec<T> {
            type Output = T;

            #[inline]
            fn index(&self, identity: $name) -> &T {
                &self[identity.index()]
            }
        }

        impl<T> IndexMut<$name> for Vec<T> {
            #[inline]
            fn index_mut(&mut self, identity: $name) -> &mut T {
                &mut self[identity.index()]
            }
        }
    )*};
}

identities! {
    /// A station on a medium: a node of a bus, a card of an emulated medium.
    StationId(u32)
    /// A position on a medium.
    PositionId(u32)
    /// A group of stations.
    GroupId(u32)
    /// A flow of a network; comparisons of clocks are numbered after all flows.
    FlowId(u32)
    /// A receiver of a flow, all flows together.
    ReceiverId(u32)
    /// A route through a node of a network.
    RouteId(NonZeroU32)
    /// A node of a network.
    NodeId(NonZeroU32)
    /// A port of a network; ports 2l and 2l + 1 are the ends of link l.
    PortId(NonZeroU32)
    /// What serves one frame at a time in a network; the first are the wires out of ports.
    ResourceId(u32)
    /// A stage of a network; the first are the wires out of ports.
    StageId(u32)
    /// An address in a frame: of a node, or, after all nodes, of a router's port.
    AddressId(NonZeroU32)
    /// A copy of a frame under way; the number of one that is no more is given again.
    CopyId(NonZeroU32)
    /// Memory of a port that copies of a frame hold together; its number is given again, too.
    ChargeId(NonZeroU32)
}

impl PortId {
    /// The other end of its link.
    #[inline]
    #[must_use]
    pub fn peer(self) -> Self {
        Self::from(self.number() ^ 1)
    }

    /// The number of its link.
    #[inline]
    #[must_use]
    pub fn link(self) -> usize {
        self.index() / 2
    }

    /// The wire out of it.
    #[inline]
    #[must_use]
    pub fn wire(self) -> ResourceId {
        ResourceId::from(self.number())
    }

    /// The stage of that wire.
    #[inline]
    #[must_use]
    pub fn stage(self) -> StageId {
        StageId::from(self.number())
    }
}
