//! Frames in memory, each kept until nobody holds it. Memory grows to what is held at once and
//! stays there.

/// Octets of a check sequence, which a frame in memory lacks (802.3-2022 § 3.2.9).
const FCS_OCTETS: u64 = 4;

/// Frames by number.
#[derive(Debug, Default)]
pub(crate) struct FrameStore {
    octets: Vec<Vec<u8>>,
    holders: Vec<u32>,
    spare: Vec<u32>,
}

impl FrameStore {
    /// Keep a frame of these pieces; it has one holder.
    pub fn keep(&mut self, chunks: &[&[u8]]) -> u32 {
        let number = self.spare.pop().unwrap_or_else(|| {
            self.octets.push(Vec::new());
            self.holders.push(0);
            u32::try_from(self.octets.len() - 1).expect("memory would be full before")
        });
        let octets = &mut self.octets[number as usize];
        octets.clear();
        for chunk in chunks {
            octets.extend_from_slice(chunk);
        }
        self.holders[number as usize] = 1;
        number
    }

    /// One more holder.
    pub fn hold(&mut self, number: u32) {
        self.holders[number as usize] += 1;
    }

    /// One holder less; without any the frame is gone.
    pub fn release(&mut self, number: u32) {
        let holders = &mut self.holders[number as usize];
        *holders -= 1;
        if *holders == 0 {
            self.spare.push(number);
        }
    }

    /// Octets of a frame, without check sequence.
    #[inline]
    pub fn octets(&self, number: u32) -> &[u8] {
        &self.octets[number as usize]
    }

    /// Octets of a frame, to be written.
    pub fn octets_mut(&mut self, number: u32) -> &mut Vec<u8> {
        &mut self.octets[number as usize]
    }

    /// Length of a frame in bits, check sequence included.
    #[inline]
    pub fn bits(&self, number: u32) -> u64 {
        8 * (self.octets[number as usize].len() as u64 + FCS_OCTETS)
    }

    /// How many frames are held.
    pub fn kept(&self) -> usize {
        self.octets.len() - self.spare.len()
    }
}
