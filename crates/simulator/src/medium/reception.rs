//! What a node hears of each other node.

use super::signals::Heard;
use super::signals::Symbol;
use crate::identity::StationId;

/// The signals that a node hears, how many there are of each kind, and what its PHY receives.
#[derive(Clone, Debug)]
pub(crate) struct Reception {
    symbols: Vec<Symbol>,
    signals: u32,
    beacons: u32,
    commits: u32,
    frames: u32,
    received: Heard,
}

impl Reception {
    /// Nothing heard of so many nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        let symbols = vec![Symbol::Silence; nodes];
        Self { symbols, signals: 0, beacons: 0, commits: 0, frames: 0, received: Heard::Nothing }
    }

    /// What is heard of each node.
    pub(crate) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// How many signals are heard at once.
    pub(crate) fn signals(&self) -> u32 {
        self.signals
    }

    /// A node is heard to change its signal, while the own node sends or not; returns the signal
    /// before.
    pub(crate) fn hear(&mut self, from: StationId, symbol: Symbol, is_sending: bool) -> Symbol {
        let before = std::mem::replace(&mut self.symbols[from], symbol);
        if let Some(count) = self.count_of(before) {
            *count -= 1;
        }
        if let Some(count) = self.count_of(symbol) {
            *count += 1;
        }
        self.signals -= u32::from(before != Symbol::Silence);
        self.signals += u32::from(symbol != Symbol::Silence);
        self.received = self.receive(matches!(symbol, Symbol::Data(_)) && !is_sending);
        before
    }

    /// The own node begins to send: a frame is received no more.
    pub(crate) fn cover(&mut self) {
        if self.received == Heard::Data {
            self.received = Heard::Nothing;
        }
    }

    fn count_of(&mut self, symbol: Symbol) -> Option<&mut u32> {
        match symbol {
            Symbol::Beacon => Some(&mut self.beacons),
            Symbol::Commit => Some(&mut self.commits),
            Symbol::Data(_) => Some(&mut self.frames),
            Symbol::Silence | Symbol::End => None,
        }
    }

    /// What is received after a change, by the PCS receive state diagram (802.3 Figure 147-7).
    fn receive(&self, begins_frame: bool) -> Heard {
        match (self.frames, self.signals, self.beacons, self.commits) {
            // In DATA, whatever covers the frame: RX_DV falls at a delimiter or in silence.
            (1.., ..) | (0, 2.., ..) if self.received == Heard::Data => Heard::Data,
            // From WAIT_SYNC only the begin of a frame leads to DATA.
            (1, 1, ..) if begins_frame => Heard::Data,
            (0, 1, 1, 0) => Heard::Beacon,
            (0, 1, 0, 1) => Heard::Commit,
            // Symbols of several signals at once are none of these.
            _ => Heard::Nothing,
        }
    }

    /// What is received: a signal while it is alone, and a frame to its end, unless its begin was
    /// covered.
    pub(crate) fn received(&self) -> Heard {
        self.received
    }
}
