//! The busiest second and the busiest minute of a capture.

/// Octets within slices of one width, from the first packet on: those of the busiest.
#[derive(Clone, Copy, Debug)]
pub struct BusiestSlice {
    width_ns: u64,
    first_ns: Option<i64>,
    slice: u64,
    octets: u64,
    most: u64,
}

impl BusiestSlice {
    /// Slices of so many seconds.
    #[must_use]
    pub fn of_seconds(seconds: u64) -> Self {
        Self { width_ns: seconds * 1_000_000_000, first_ns: None, slice: 0, octets: 0, most: 0 }
    }

    /// A packet at this time. One that is earlier than its predecessor counts with it.
    pub fn take(&mut self, now_ns: i64, octets: u32) {
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        let since_ns = now_ns.saturating_sub(first_ns).max(0).cast_unsigned();
        let slice = since_ns / self.width_ns;
        if slice > self.slice {
            (self.slice, self.octets) = (slice, 0);
        }
        self.octets += u64::from(octets);
        self.most = self.most.max(self.octets);
    }

    /// Octets of the busiest slice; nothing if the packets do not fill one.
    #[must_use]
    pub fn most(&self) -> Option<u64> {
        (self.slice > 0).then_some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_begin_with_the_first_packet_and_the_fullest_counts() {
        let mut busiest = BusiestSlice::of_seconds(1);
        assert_eq!(busiest.most(), None);
        let packets = [(5_000_000_000, 100), (5_999_999_999, 200), (5_900_000_000, 50)];
        for (at_ns, octets) in packets {
            busiest.take(at_ns, octets);
        }
        assert_eq!(busiest.most(), None);
        busiest.take(6_000_000_000, 320);
        assert_eq!(busiest.most(), Some(350));
        // Ten seconds later, after slices without a packet.
        busiest.take(16_000_000_000, 351);
        assert_eq!(busiest.most(), Some(351));
    }
}
