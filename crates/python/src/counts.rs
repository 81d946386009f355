//! What an engine counted, as the arrays of `ethermeter.counts`.

#![allow(clippy::needless_pass_by_value)] // iterators, which are made for the call

use ethermeter_traffic::clock::rounds::ClockEstimate;
use ethermeter_trial::Counts;
use ethermeter_trial::counts::{
    Balance, Buckets, CallCounts, ClassCounts, ClockDelays, ClockPair, Delays, EndCounts,
    FlowCounts, FlowVoice, MediumCounts, PlcaCounts, PlcaNodeCounts, PortCounts, SignedDelays,
    StationBatches, StationCounts, StationGenerator, StationVoice, SynchronisedDelays,
    TransferCounts,
};
use ethermeter_trial::scenario::Implementation;
use numpy::ndarray::IntoDimension;
use numpy::{Element, IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Make a structure of `ethermeter.counts` from named fields.
macro_rules! structure {
    ($to:ident, $class:literal, $($field:ident: $value:expr),+ $(,)?) => {{
        let fields = PyDict::new($to.py());
        $(fields.set_item(stringify!($field), $value)?;)+
        $to.getattr($class)?.call((), Some(&fields))
    }};
}

/// Make one whose further fields are integers by the same name, of each of some entities.
macro_rules! integers_of {
    ($to:ident, $class:literal, $counts:expr, $shape:expr, [$($integer:ident),*],
     $($field:ident: $value:expr),* $(,)?) => {
        structure!($to, $class,
            $($integer: array($to, $counts.map(|counts| integer(counts.$integer)), $shape)?,)*
            $($field: $value),*)
    };
}

type CountsModule<'py> = Bound<'py, PyModule>;
type PyStructure<'py> = PyResult<Bound<'py, PyAny>>;

/// Convert the counts of a trial that an implementation of the simulator ran.
pub fn convert<'py>(py: Python<'py>, counts: &Counts, ran: Implementation) -> PyStructure<'py> {
    let to = &py.import("ethermeter.counts")?;
    structure!(to, "Counts",
        window_ps: counts.window_ps,
        events: counts.events,
        media: PyTuple::new(py, counts.media.iter().map(|of| medium(to, of)).collect::<PyResult<Vec<_>>>()?)?,
        stations: stations(to, &counts.stations)?,
        flows: flows(to, &counts.flows, counts.window_ps)?,
        ports: ports(to, &counts.ports)?,
        nodes: structure!(to, "NodeCounts", flooded: integers(to, &counts.nodes.flooded))?,
        clock_pairs: clock_pairs(to, &counts.clock_pairs)?,
        cautions: PyTuple::new(py, &counts.cautions)?,
        implementation: match ran {
            Implementation::Fast => "fast",
            Implementation::Reference => "reference",
        },
    )
}

fn medium<'py>(to: &CountsModule<'py>, counts: &MediumCounts) -> PyStructure<'py> {
    structure!(to, "MediumCounts",
        time_ps: integers(to, &counts.time_ps),
        attempts_per_frame: integers(to, &counts.attempts_per_frame),
        colliders: integers(to, &counts.colliders),
        transmission_delay: histogram(to, &counts.transmission_delay)?,
        access_delay: histogram(to, &counts.access_delay)?,
        response_time: counts.response_time.as_ref().map(|counts| histogram(to, counts)).transpose()?,
        plca: counts.plca.as_ref().map(|counts| plca(to, counts)).transpose()?,
    )
}

fn plca<'py>(to: &CountsModule<'py>, counts: &PlcaCounts) -> PyStructure<'py> {
    structure!(to, "PlcaCounts",
        time_ps: integers(to, &counts.time_ps),
        cycle: delays(to, std::iter::once(&counts.cycle), 1)?,
        access_from_attempt: delays(to, std::iter::once(&counts.access_from_attempt), 1)?,
        opportunities: integers(to, &[counts.opportunities]),
        nodes: plca_nodes(to, &counts.nodes)?,
    )
}

fn plca_nodes<'py>(to: &CountsModule<'py>, counts: &PlcaNodeCounts) -> PyStructure<'py> {
    structure!(to, "PlcaNodeCounts",
        used: integers(to, &counts.used),
        yielded: integers(to, &counts.yielded),
        missed: integers(to, &counts.missed),
        logical_collisions: integers(to, &counts.logical_collisions),
        burst_frames: integers(to, &counts.burst_frames),
        beacons_lost: integers(to, &counts.beacons_lost),
        status_changes: integers(to, &counts.status_changes),
        ok_ps: integers(to, &counts.ok_ps),
        access_max_ps: integers(to, &counts.access_max_ps),
        attempt_max_ps: integers(to, &counts.attempt_max_ps),
    )
}

fn stations<'py>(to: &CountsModule<'py>, counts: &StationCounts) -> PyStructure<'py> {
    if counts.frames.is_empty() {
        return to.getattr("NO_STATIONS");
    }
    let squares =
        counts.delay_ps2.iter().map(|&ps2| Ok(ps2.into_pyobject(to.py())?.into_any().unbind()));
    let none = vec![0; counts.frames.len()];
    let overdue = if counts.overdue.is_empty() { &none } else { &counts.overdue };
    structure!(to, "StationCounts",
        frames: integers(to, &counts.frames),
        bits: integers(to, &counts.bits),
        charged_ps: integers(to, &counts.charged_ps),
        collisions: integers(to, &counts.collisions),
        late_collisions: integers(to, &counts.late_collisions),
        discarded: integers(to, &counts.discarded),
        resumed: integers(to, &counts.resumed),
        offered: integers(to, &counts.offered),
        dropped: integers(to, &counts.dropped),
        damaged: integers(to, &counts.damaged),
        overdue: integers(to, overdue),
        delay_ps: integers(to, &counts.delay_ps),
        delay_ps2: squares.collect::<PyResult<Vec<Py<PyAny>>>>()?.into_pyarray(to.py()),
        access_ps: integers(to, &counts.access_ps),
        response_ps: integers(to, &counts.response_ps),
        waiting_ps: integers(to, &counts.waiting_ps),
        offered_load: counts.offered_load.clone().into_pyarray(to.py()),
        batches: station_batches(to, &counts.batches, counts.frames.len())?,
        voice: counts.voice.as_ref().map(|counts| station_voice(to, counts)).transpose()?,
        calls: counts.calls.as_ref().map(|counts| calls(to, counts)).transpose()?,
        generator: counts.generator.as_ref().map(|counts| station_generator(to, counts)).transpose()?,
    )
}

fn calls<'py>(to: &CountsModule<'py>, counts: &CallCounts) -> PyStructure<'py> {
    structure!(to, "CallCounts",
        offered: integers(to, &counts.offered),
        refused: integers(to, &counts.refused),
        call_ps: integers(to, &counts.call_ps),
    )
}

fn station_generator<'py>(to: &CountsModule<'py>, counts: &StationGenerator) -> PyStructure<'py> {
    structure!(to, "StationGenerator",
        output_ps: column(to, counts.output_ps.iter().copied().map(float)),
        transmitted_ps: column(to, counts.transmitted_ps.iter().copied().map(float)),
        filling_ps: integers(to, &counts.filling_ps),
    )
}

fn station_batches<'py>(
    to: &CountsModule<'py>,
    counts: &StationBatches,
    stations: usize,
) -> PyStructure<'py> {
    let shape = [counts.frames.len().checked_div(stations).unwrap_or(0), stations];
    structure!(to, "StationBatches",
        frames: array(to, counts.frames.iter().map(|&frames| i64::from(frames)), shape)?,
        charged_ps: array(to, counts.charged_ps.iter().copied().map(integer), shape)?,
        delay_ps: array(to, counts.delay_ps.iter().copied().map(integer), shape)?,
        delay_ps2: array(to, counts.delay_ps2.iter().copied().map(float), shape)?,
    )
}

fn station_voice<'py>(to: &CountsModule<'py>, counts: &StationVoice) -> PyStructure<'py> {
    structure!(to, "StationVoice",
        samples: integers(to, &counts.samples),
        samples_delivered: integers(to, &counts.samples_delivered),
        samples_lost: integers(to, &counts.samples_lost),
        samples_buffered: integers(to, &counts.samples_buffered),
        voice_frames: integers(to, &counts.voice_frames),
        voice_delay_ps: column(to, counts.voice_delay_ps.iter().copied().map(float)),
        samples_sent: integers(to, &counts.samples_sent),
        sample_delay_ps: column(to, counts.sample_delay_ps.iter().copied().map(float)),
        voice_delay: histogram(to, &counts.voice_delay)?,
        sample_delay: histogram(to, &counts.sample_delay)?,
    )
}

fn flows<'py>(to: &CountsModule<'py>, all: &[FlowCounts], window_ps: u64) -> PyStructure<'py> {
    if all.is_empty() {
        return to.getattr("NO_FLOWS");
    }
    let clocks: Option<Vec<_>> = some(all, |flow| flow.clocks.as_ref(), ClockDelays::default);
    integers_of!(to, "FlowCounts", all.iter(), all.len(),
        [offered, dropped, messages, frames, octets, data_octets, arrived, overdue, answers,
         answer_octets, completed, timed_out, duplicates, resent],
        balance: balance(to, all.iter().map(|flow| &flow.balance))?,
        offered_ps: column(to, all.iter().map(|_| integer(window_ps))),
        received_ps: column(to, all.iter().map(|_| integer(window_ps))),
        // All that waits is sent in time, and between two hosts there is one path, which keeps the
        // order of frames.
        queued: column(to, all.iter().map(|_| 0_i64)),
        reordered: column(to, all.iter().map(|_| 0_i64)),
        one_way: delays(to, all.iter().map(|flow| &flow.one_way), all.len())?,
        answer_one_way: delays(to, all.iter().map(|flow| &flow.answer_one_way), all.len())?,
        round_trip: delays(to, all.iter().map(|flow| &flow.round_trip), all.len())?,
        answer_round_trip: delays(to, all.iter().map(|flow| &flow.answer_round_trip), all.len())?,
        responder_round_trip: histograms(to,
            all.iter().flat_map(|flow| &flow.responder_round_trip))?,
        between_arrivals: delays(to, all.iter().map(|flow| &flow.between_arrivals), all.len())?,
        batches: flow_batches(to, all)?,
        transfer: some(all, |flow| flow.transfer.as_ref(), TransferCounts::default)
            .map(|all| transfers(to, &all)).transpose()?,
        voice: some(all, |flow| flow.voice.as_ref(), FlowVoice::default)
            .map(|all| flow_voice(to, &all)).transpose()?,
        clocks: clocks.map(|all| clock_delays(to, &all)).transpose()?,
    )
}

/// What each flow has, a default where it lacks it; `None` if all do.
fn some<T: Clone>(
    all: &[FlowCounts],
    pick: impl Fn(&FlowCounts) -> Option<&T>,
    default: impl Fn() -> T,
) -> Option<Vec<T>> {
    let has_any = all.iter().any(|flow| pick(flow).is_some());
    has_any.then(|| all.iter().map(|flow| pick(flow).cloned().unwrap_or_else(&default)).collect())
}

fn flow_batches<'py>(to: &CountsModule<'py>, all: &[FlowCounts]) -> PyStructure<'py> {
    let batches = all.first().map_or(0, |flow| flow.batches.len());
    let every = || (0..batches).flat_map(|batch| all.iter().map(move |flow| &flow.batches[batch]));
    let shape = [batches, all.len()];
    integers_of!(to, "FlowBatch", every(), shape,
        [offered, dropped, arrived, messages, overdue, frames, octets, data_octets, moved_octets,
         completed, timed_out, arrivals_between, acknowledged],
        one_way_ps: array(to, every().map(|counts| float(counts.one_way_ps)), shape)?,
        round_trip_ps: array(to, every().map(|counts| float(counts.round_trip_ps)), shape)?,
        between_arrivals_ps: array(to, every().map(|counts| float(counts.between_arrivals_ps)), shape)?,
        acknowledgement_ps: array(to, every().map(|counts| float(counts.acknowledgement_ps)), shape)?,
    )
}

fn balance<'py, 'a>(
    to: &CountsModule<'py>,
    all: impl Iterator<Item = &'a Balance> + Clone,
) -> PyStructure<'py> {
    let count = all.clone().count();
    let lost: Vec<i64> = all.clone().flat_map(|counts| counts.lost).map(integer).collect();
    let causes = Balance::default().lost.len();
    integers_of!(to, "Balance", all.clone(), count, [sent, copied, delivered, in_flight],
        lost: array(to, lost.into_iter(), [count, causes])?,
    )
}

fn delays<'py, 'a, D: IntoDimension + Copy>(
    to: &CountsModule<'py>,
    all: impl Iterator<Item = &'a Delays> + Clone,
    shape: D,
) -> PyStructure<'py> {
    integers_of!(to, "Delays", all.clone(), shape, [count, max_ps],
        sum_ps: array(to, all.clone().map(|counts| float(counts.sum_ps)), shape)?,
        buckets: histograms(to, all.clone().map(|counts| &counts.buckets))?,
    )
}

fn transfers<'py>(to: &CountsModule<'py>, all: &[TransferCounts]) -> PyStructure<'py> {
    let ends: Vec<&EndCounts> = all.iter().flat_map(|counts| &counts.ends).collect();
    let shape = [all.len(), 2];
    let windows: Vec<[u64; 3]> = (0..)
        .zip(&ends)
        .flat_map(|(end, counts)| {
            counts.windows.iter().map(move |&(from, octets)| [end, from, octets])
        })
        .collect();
    let column_of = |index: usize| column(to, windows.iter().map(move |row| integer(row[index])));
    integers_of!(to, "TransferCounts", all.iter(), all.len(), [octets],
        whole_ps: column(to, all.iter().map(|counts| optional(counts.whole_ps.map(u128::from).map(float)))),
        ends: integers_of!(to, "EndCounts", ends.iter(), shape,
            [segments, retransmitted, timeouts, fast_retransmissions, acknowledgements],
            acknowledgement_delay: delays(
                to, ends.iter().map(|counts| &counts.acknowledgement_delay), shape)?,
            windows: structure!(to, "Windows",
                entity: column_of(0), from_ps: column_of(1), octets: column_of(2))?,
        )?,
    )
}

fn flow_voice<'py>(to: &CountsModule<'py>, all: &[FlowVoice]) -> PyStructure<'py> {
    let lost: Vec<i64> = all.iter().flat_map(|counts| counts.lost).map(integer).collect();
    let causes = Balance::default().lost.len();
    integers_of!(to, "FlowVoice", all.iter(), all.len(), [delivered, under_way],
        host: integers_of!(to, "HostSamples", all.iter().map(|counts| &counts.host), all.len(),
            [made, sent, lost, left],)?,
        lost: array(to, lost.into_iter(), [all.len(), causes])?,
        voice_delay: delays(to, all.iter().map(|counts| &counts.voice_delay), all.len())?,
        sample_delay: delays(to, all.iter().map(|counts| &counts.sample_delay), all.len())?,
    )
}

fn clock_delays<'py>(to: &CountsModule<'py>, all: &[ClockDelays]) -> PyStructure<'py> {
    let has_any = all.iter().any(|counts| counts.synchronised.is_some());
    let delays_of_flows: Vec<SynchronisedDelays> =
        all.iter().map(|counts| counts.synchronised.clone().unwrap_or_default()).collect();
    let synchronised = || {
        integers_of!(to, "SynchronisedDelays", delays_of_flows.iter(), delays_of_flows.len(),
            [unrelated, before_sent, error_most_ps, contradictions],
            delays: signed(to, delays_of_flows.iter().map(|counts| &counts.delays))?,
            estimate: estimates(to, delays_of_flows.iter().map(|counts| counts.estimate.as_ref()))?,
            delay_uncertainty_ns: column(
                to, delays_of_flows.iter().map(|counts| optional(counts.delay_uncertainty_ns))),
        )
    };
    structure!(to, "ClockDelays",
        clock: signed(to, all.iter().map(|counts| &counts.clock))?,
        synchronised: has_any.then(synchronised).transpose()?,
    )
}

fn clock_pairs<'py>(to: &CountsModule<'py>, all: &[ClockPair]) -> PyStructure<'py> {
    if all.is_empty() {
        return to.getattr("NO_CLOCK_PAIRS");
    }
    integers_of!(to, "ClockPair", all.iter(), all.len(), [requests, answered, lost],
        sender: column(to, all.iter().map(|counts| i64::from(counts.sender))),
        receiver: column(to, all.iter().map(|counts| i64::from(counts.receiver))),
        balance: balance(to, all.iter().map(|counts| &counts.balance))?,
        estimate: estimates(to, all.iter().map(|counts| counts.estimate.as_ref()))?,
    )
}

#[allow(clippy::cast_precision_loss)] // readings and numbers of exchanges
fn estimates<'py, 'a>(
    to: &CountsModule<'py>,
    all: impl Iterator<Item = Option<&'a ClockEstimate>> + Clone,
) -> PyStructure<'py> {
    let column_of = |pick: fn(&ClockEstimate) -> f64| {
        column(to, all.clone().map(|counts| optional(counts.map(pick))))
    };
    structure!(to, "ClockEstimate",
        at_ns: column_of(|counts| counts.at_ns as f64),
        offset_ns: column_of(|counts| counts.offset_ns),
        uncertainty_ns: column_of(|counts| counts.uncertainty_ns),
        drift: column_of(|counts| counts.drift),
        drift_uncertainty: column_of(|counts| counts.drift_uncertainty),
        contradictions: column_of(|counts| counts.contradictions as f64),
        kept: column_of(|counts| counts.kept as f64),
        fastest_round_trip_ns: column_of(|counts| counts.fastest_round_trip_ns),
        delay_uncertainty_ns: column_of(|counts| optional(counts.delay_uncertainty_ns)),
    )
}

#[allow(clippy::cast_precision_loss)] // rounded once, as `ethermeter.counts` has it
fn signed<'py, 'a>(
    to: &CountsModule<'py>,
    all: impl Iterator<Item = &'a SignedDelays> + Clone,
) -> PyStructure<'py> {
    let rows = (0..).zip(all.clone()).flat_map(|(entity, counts)| {
        counts.buckets.iter().map(move |&(low, high, count)| [entity, low, high, integer(count)])
    });
    structure!(to, "SignedDelays",
        count: column(to, all.clone().map(|counts| integer(counts.count))),
        sum_ps: column(to, all.clone().map(|counts| counts.sum_ps as f64)),
        buckets: buckets(to, rows)?,
    )
}

fn ports<'py>(to: &CountsModule<'py>, all: &[PortCounts]) -> PyStructure<'py> {
    if all.is_empty() {
        return to.getattr("NO_PORTS");
    }
    integers_of!(
        to,
        "PortCounts",
        all.iter(),
        all.len(),
        [
            frames,
            octets,
            dropped,
            buffer_dropped,
            queue_most,
            buffer_most,
            pauses_sent,
            pauses_received,
            collisions,
            late_collisions,
            busy_ps,
            queue_octets_most,
            access_ps,
            access_most_ps,
            used,
            yielded,
            missed,
            logical_collisions,
            beacons_lost,
            status_changes,
            ok_ps
        ],
        classes: classes(to, all)?,
    )
}

/// Classes as columns, with the number of their port.
fn classes<'py>(to: &CountsModule<'py>, all: &[PortCounts]) -> PyStructure<'py> {
    let every: Vec<(i64, i64, &ClassCounts)> = (0..)
        .zip(all)
        .flat_map(|(port, counts)| {
            (0..).zip(&counts.classes).map(move |(class, served)| (port, class, served))
        })
        .collect();
    integers_of!(to, "ClassCounts", every.iter().map(|(_, _, counts)| counts), every.len(),
        [arrived, frames, octets, dropped, queue_most, queue_octets_most],
        port: column(to, every.iter().map(|(port, _, _)| *port)),
        number: column(to, every.iter().map(|(_, class, _)| *class)),
    )
}

fn histogram<'py>(to: &CountsModule<'py>, buckets: &Buckets) -> PyStructure<'py> {
    histograms(to, std::iter::once(buckets))
}

fn histograms<'py, 'a>(
    to: &CountsModule<'py>,
    all: impl Iterator<Item = &'a Buckets>,
) -> PyStructure<'py> {
    let rows = (0..).zip(all).flat_map(|(entity, counts)| {
        counts
            .iter()
            .map(move |&(low, high, count)| [entity, integer(low), integer(high), integer(count)])
    });
    buckets(to, rows)
}

fn buckets<'py>(to: &CountsModule<'py>, rows: impl Iterator<Item = [i64; 4]>) -> PyStructure<'py> {
    let rows: Vec<[i64; 4]> = rows.collect();
    let column_of = |index: usize| column(to, rows.iter().map(move |row| row[index]));
    structure!(to, "Buckets",
        entity: column_of(0), low_ps: column_of(1), high_ps: column_of(2), count: column_of(3))
}

fn array<'py, T: Element, D: IntoDimension>(
    to: &CountsModule<'py>,
    values: impl Iterator<Item = T>,
    shape: D,
) -> PyStructure<'py> {
    Ok(values.collect::<Vec<T>>().into_pyarray(to.py()).reshape(shape)?.into_any())
}

fn column<'py, T: Element>(
    to: &CountsModule<'py>,
    values: impl Iterator<Item = T>,
) -> Bound<'py, PyAny> {
    values.collect::<Vec<T>>().into_pyarray(to.py()).into_any()
}

fn integers<'py>(to: &CountsModule<'py>, values: &[u64]) -> Bound<'py, PyAny> {
    column(to, values.iter().copied().map(integer))
}

/// Counts and times of a trial are below 2⁶³.
fn integer(value: u64) -> i64 {
    value.cast_signed()
}

/// A sum that may pass 64 bits, rounded once.
#[allow(clippy::cast_precision_loss)]
fn float(sum: u128) -> f64 {
    sum as f64
}

fn optional(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}
