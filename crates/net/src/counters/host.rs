//! What the host was doing: processors, interrupts, context switches, memory.

use super::text::{numbers, read};
use crate::Error;
use serde::{Deserialize, Serialize};

/// How a processor has spent its time since the host started, in ticks of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessorTimes {
    /// In programs, the nice ones too.
    pub user: u64,
    /// In the kernel, for programs.
    pub system: u64,
    /// In interrupts.
    pub interrupts: u64,
    /// In what interrupts put off, most of it frames.
    pub soft_interrupts: u64,
    /// Taken by the machine around this one, if it is virtual.
    pub steal: u64,
    /// Idle, or waiting for a disk.
    pub idle: u64,
}

/// What the host has counted until now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSample {
    /// By processor.
    pub processors: Vec<ProcessorTimes>,
    /// Context switches.
    pub context_switches: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Times that put-off work of interrupts ran.
    pub soft_interrupts: u64,
    /// Frames that found a processor's backlog full.
    pub backlog_dropped: u64,
    /// Times that a processor had more frames to receive than it may in one go.
    pub backlog_squeezed: u64,
    /// Memory that programs could have, in octets.
    pub memory_available_octets: u64,
}

/// Tasks of the host that want a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct TaskLoad {
    /// Tasks that ran, wanted to run, or waited for a disk: mean that forgets with a time constant
    /// of 1 min.
    pub average: f64,
    /// Tasks that run or want to run now, the reading one included.
    pub runnable: u64,
}

impl TaskLoad {
    /// Read it.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn now() -> Result<Self, Error> {
        Ok(Self::parse(&read("/proc/loadavg")?))
    }

    /// One line, as `0.20 0.18 0.12 1/80 11206`: means of 1, 5 and 15 min, runnable tasks of all;
    /// what is not there is 0.
    fn parse(text: &str) -> Self {
        let mut words = text.split_ascii_whitespace();
        let average =
            words.next().and_then(|word| word.parse().ok()).filter(|mean: &f64| mean.is_finite());
        let runnable = words.nth(2).and_then(|word| word.split_once('/')?.0.parse().ok());
        Self { average: average.unwrap_or(0.0), runnable: runnable.unwrap_or(0) }
    }
}

/// Numbers of a line that are read.
const MOST_COUNTS: usize = 10;

impl HostSample {
    /// Read it.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn now() -> Result<Self, Error> {
        let mut sample = Self::default();
        sample.parse_stat(&read("/proc/stat")?);
        sample.parse_softnet(&read("/proc/net/softnet_stat")?);
        sample.parse_memory(&read("/proc/meminfo")?);
        Ok(sample)
    }

    fn parse_stat(&mut self, text: &str) {
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(' ') else { continue };
            // The line of interrupts has a number for each of thousands; the first is their sum.
            let counts: Vec<u64> = numbers(rest).take(MOST_COUNTS).collect();
            match (name, &counts[..]) {
                ("cpu", _) => {} // the sum of all
                ("ctxt", [switches, ..]) => self.context_switches = *switches,
                ("intr", [interrupts, ..]) => self.interrupts = *interrupts,
                ("softirq", [all, ..]) => self.soft_interrupts = *all,
                (name, [user, nice, system, idle, disk, interrupts, soft, steal, ..])
                    if name.starts_with("cpu") =>
                {
                    self.processors.push(ProcessorTimes {
                        user: user.saturating_add(*nice),
                        system: *system,
                        interrupts: *interrupts,
                        soft_interrupts: *soft,
                        steal: *steal,
                        idle: idle.saturating_add(*disk),
                    });
                }
                _ => {}
            }
        }
    }

    /// A line of hexadecimal numbers a processor: processed, dropped, squeezed, ….
    fn parse_softnet(&mut self, text: &str) {
        for line in text.lines() {
            let mut counts =
                line.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok());
            let (_processed, dropped, squeezed) = (counts.next(), counts.next(), counts.next());
            self.backlog_dropped = self.backlog_dropped.saturating_add(dropped.unwrap_or(0));
            self.backlog_squeezed = self.backlog_squeezed.saturating_add(squeezed.unwrap_or(0));
        }
    }

    fn parse_memory(&mut self, text: &str) {
        let available =
            text.lines().find_map(|line| numbers(line.strip_prefix("MemAvailable:")?).next());
        self.memory_available_octets = available.unwrap_or(0).saturating_mul(1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sample_is_read_as_the_kernel_writes_it() {
        let mut sample = HostSample::default();
        sample.parse_stat(
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 77 1 2\nsoftirq 66 1 2\nctxt 88\nbtime 5\n",
        );
        sample.parse_softnet("0000ffff 00000010 00000002 0\n00000001 00000001 00000000 0\n");
        sample.parse_memory("MemTotal:       100 kB\nMemAvailable:   50 kB\n");
        let processor = ProcessorTimes {
            user: 3,
            system: 3,
            interrupts: 6,
            soft_interrupts: 7,
            steal: 8,
            idle: 9,
        };
        let expected = HostSample {
            processors: vec![processor],
            context_switches: 88,
            interrupts: 77,
            soft_interrupts: 66,
            backlog_dropped: 17,
            backlog_squeezed: 2,
            memory_available_octets: 51_200,
        };
        assert_eq!(sample, expected);
    }

    #[test]
    fn the_load_is_read_as_the_kernel_writes_it() {
        let load = TaskLoad { average: 0.2, runnable: 3 };
        assert_eq!(TaskLoad::parse("0.20 0.18 0.12 3/80 11206\n"), load);
        assert!(TaskLoad::now().expect("a load").runnable >= 1, "the reading task runs");
    }

    #[test]
    fn this_host_has_processors_and_memory() {
        let sample = HostSample::now().expect("a sample");
        assert!(
            !sample.processors.is_empty()
                && sample.memory_available_octets > 0
                && sample.context_switches > 0
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_parsing_panic(text in "(\\PC{0,9}|cpu|ctxt|MemAvailable:|[0-9a-f]{1,22}|[ :\n]){0,60}") {
            let mut sample = HostSample::default();
            sample.parse_stat(&text);
            sample.parse_softnet(&text);
            sample.parse_memory(&text);
            TaskLoad::parse(&text);
        }
    }
}
