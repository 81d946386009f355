//! What a node hears of each other node.

use super::event::Symbol;
use super::signals::Heard;

/// The signals that a node hears, and how many there are of each kind.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    symbols: Vec<Symbol>,
    signals: u32,
    beacons: u32,
    commits: u32,
    frames: u32,
}

impl Reception {
    /// Nothing heard of so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        let symbols = vec![Symbol::Silence; nodes];
        Self { symbols, signals: 0, beacons: 0, commits: 0, frames: 0 }
    }

    /// What is heard of each node.
    pub(super) fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// How many signals are heard at once.
    pub(super) fn signals(&self) -> u32 {
        self.signals
    }

    /// A node is heard to change its signal; returns the one before.
    pub(super) fn hear(&mut self, from: u32, symbol: Symbol) -> Symbol {
        let before = std::mem::replace(&mut self.symbols[from as usize], symbol);
        if let Some(count) = self.count_of(before) {
            *count -= 1;
        }
        if let Some(count) = self.count_of(symbol) {
            *count += 1;
        }
        self.signals -= u32::from(before != Symbol::Silence);
        self.signals += u32::from(symbol != Symbol::Silence);
        before
    }

    fn count_of(&mut self, symbol: Symbol) -> Option<&mut u32> {
        match symbol {
            Symbol::Beacon => Some(&mut self.beacons),
            Symbol::Commit => Some(&mut self.commits),
            Symbol::Data(_) => Some(&mut self.frames),
            Symbol::Silence | Symbol::End => None,
        }
    }

    /// What it is decoded as. Several signals are decoded as data if data is among them, else not
    /// at all.
    pub(super) fn decoded(&self) -> Heard {
        match (self.frames, self.signals, self.beacons, self.commits) {
            (1.., ..) => Heard::Data,
            (0, 1, 1, 0) => Heard::Beacon,
            (0, 1, 0, 1) => Heard::Commit,
            _ => Heard::Nothing,
        }
    }
}
