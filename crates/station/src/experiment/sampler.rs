//! What the host counts during an experiment: all of it at the edges of the phases, and what its
//! processors do in between.

use super::schedule::ExperimentSchedule;
use super::series::ColumnSeries;
use crate::report::{HostColumns, HostCounters, HostEdge, HostReport, HostSeries, SamplingCost};
use ethermeter_net::counters::{HostSample, ProcessorTimes, interfaces, queues, udp};
use ethermeter_net::provenance::HostFacts;
use ethermeter_net::{Error, Timeline};

/// How long it sleeps between two looks at the stop flag.
const LOOK_NS: u64 = 20_000_000;
/// How often it looks at the processors.
const EVERY_NS: u64 = 100_000_000;
/// Interfaces whose facts are gathered.
const MOST_INTERFACES: usize = 32;

/// Report of the host: samples before the beginning, at both ends of what is measured, and at the
/// end, whether that comes in time or early; its processors meanwhile; what it is.
pub(super) fn samples(schedule: &ExperimentSchedule<impl Timeline>) -> HostReport {
    let transmit_ns = schedule.transmit_ns();
    let edges = [
        ("begin", schedule.begin_ns),
        ("measure_from", transmit_ns.saturating_add(schedule.phases.measure_from_ns)),
        ("measure_to", transmit_ns.saturating_add(schedule.phases.measure_to_ns)),
        ("end", schedule.until_ns()),
    ];
    let mut samples = Vec::with_capacity(edges.len());
    let mut series = ColumnSeries::new(schedule.begin_ns, EVERY_NS);
    let mut cost = SamplingCost::default();
    for (at, at_ns) in edges {
        let was_in_time = wait(at_ns, schedule, &mut series, &mut cost);
        if was_in_time || at == "end" || samples.is_empty() {
            let (counters, error) = match sample(schedule.time.now_ns()) {
                Ok(counters) => (Some(counters), None),
                Err(error) => (None, Some(error.to_string())),
            };
            samples.push(HostEdge { at: at.into(), counters, error });
        }
    }
    // Only now: asking drivers may take a while.
    let names = interfaces().unwrap_or_default().into_iter().map(|interface| interface.name);
    HostReport {
        host: samples,
        host_series: Some(HostSeries { course: series.course(transmit_ns, columns), cost }),
        provenance: Some(HostFacts::gathered(names.take(MOST_INTERFACES))),
    }
}

fn wait(
    until_ns: u64,
    schedule: &ExperimentSchedule<impl Timeline>,
    series: &mut ColumnSeries<HostSample>,
    cost: &mut SamplingCost,
) -> bool {
    loop {
        let now_ns = schedule.time.now_ns();
        if schedule.lease.is_silent_at(now_ns) {
            return false;
        }
        if now_ns >= series.due_ns() {
            let before_ns = schedule.time.worked_ns();
            match HostSample::now() {
                Ok(sample) => {
                    series.offer(now_ns, || sample);
                }
                Err(_) => cost.failed += 1,
            }
            cost.samples += 1;
            cost.processor_ns += schedule.time.worked_ns() - before_ns;
        }
        if now_ns >= until_ns {
            return true;
        }
        schedule.time.sleep_until(
            until_ns.min(now_ns + LOOK_NS).min(series.due_ns().max(now_ns + 1_000_000)),
        );
    }
}

/// Counts since the host's start, by column; those of processors in ticks of 10 ms, by processor.
fn columns(rows: &[(u64, HostSample)]) -> HostColumns {
    let column = |of: fn(&HostSample) -> u64| {
        rows.iter().map(|(_, sample)| of(sample)).collect::<Vec<u64>>()
    };
    let processors = rows.iter().map(|(_, sample)| sample.processors.len()).min().unwrap_or(0);
    let by_processor = |of: fn(&ProcessorTimes) -> u64| {
        let one = |number: usize| {
            rows.iter().map(|(_, sample)| of(&sample.processors[number])).collect::<Vec<u64>>()
        };
        (0..processors).map(one).collect::<Vec<_>>()
    };
    HostColumns {
        user: by_processor(|times| times.user),
        system: by_processor(|times| times.system),
        interrupts_time: by_processor(|times| times.interrupts),
        soft_interrupts_time: by_processor(|times| times.soft_interrupts),
        steal: by_processor(|times| times.steal),
        idle: by_processor(|times| times.idle),
        context_switches: column(|sample| sample.context_switches),
        interrupts: column(|sample| sample.interrupts),
        soft_interrupts: column(|sample| sample.soft_interrupts),
        backlog_dropped: column(|sample| sample.backlog_dropped),
        backlog_squeezed: column(|sample| sample.backlog_squeezed),
        memory_available_octets: column(|sample| sample.memory_available_octets),
    }
}

fn sample(taken_ns: u64) -> Result<HostCounters, Error> {
    Ok(HostCounters {
        taken_ns,
        host: HostSample::now()?,
        interfaces: interfaces()?,
        udp: udp()?,
        queues: queues()?,
    })
}
