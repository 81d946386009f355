//! What an engine counted, as the arrays of `ethermeter.counts`.

#![allow(clippy::needless_pass_by_value)] // iterators, which are made for the call

use ethermeter_traffic::clock::rounds::ClockEstimate;
use ethermeter_trial::Counts;
use ethermeter_trial::counts::{
    Balance, Buckets, ClassCounts, ClockDelays, ClockPair, Delays, EndCounts, FlowCounts,
    FlowVoice, MediumCounts, PlcaCounts, PlcaNodeCounts, PortCounts, SignedDelays, StationBatches,
    StationCounts, StationVoice, SynchronisedDelays, TransferCounts,
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
    ($to:ident, $class:literal, $of:expr, $shape:expr, [$($integer:ident),*],
     $($field:ident: $value:expr),* $(,)?) => {
        structure!($to, $class,
            $($integer: array($to, $of.map(|it| integer(it.$integer)), $shape)?,)*
            $($field: $value),*)
    };
}

type To<'py> = Bound<'py, PyModule>;
type Made<'py> = PyResult<Bound<'py, PyAny>>;

/// Convert the counts of a trial that an implementation of the simulator ran.
pub fn convert<'py>(py: Python<'py>, counts: &Counts, ran: Implementation) -> Made<'py> {
    let to = &py.import("ethermeter.counts")?;
    structure!(to, "Counts",
        window_ps: counts.window_ps,
        events: counts.events,
        medium: medium(to, &counts.medium)?,
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

fn medium<'py>(to: &To<'py>, it: &MediumCounts) -> Made<'py> {
    structure!(to, "MediumCounts",
        time_ps: integers(to, &it.time_ps),
        attempts_per_frame: integers(to, &it.attempts_per_frame),
        colliders: integers(to, &it.colliders),
        transmission_delay: histogram(to, &it.transmission_delay)?,
        access_delay: histogram(to, &it.access_delay)?,
        response_time: it.response_time.as_ref().map(|of| histogram(to, of)).transpose()?,
        plca: it.plca.as_ref().map(|of| plca(to, of)).transpose()?,
    )
}

fn plca<'py>(to: &To<'py>, it: &PlcaCounts) -> Made<'py> {
    structure!(to, "PlcaCounts",
        time_ps: integers(to, &it.time_ps),
        cycle: delays(to, std::iter::once(&it.cycle), 1)?,
        access_from_attempt: delays(to, std::iter::once(&it.access_from_attempt), 1)?,
        opportunities: integers(to, &[it.opportunities]),
        nodes: plca_nodes(to, &it.nodes)?,
    )
}

fn plca_nodes<'py>(to: &To<'py>, it: &PlcaNodeCounts) -> Made<'py> {
    structure!(to, "PlcaNodeCounts",
        used: integers(to, &it.used),
        yielded: integers(to, &it.yielded),
        missed: integers(to, &it.missed),
        logical_collisions: integers(to, &it.logical_collisions),
        burst_frames: integers(to, &it.burst_frames),
        beacons_lost: integers(to, &it.beacons_lost),
        status_changes: integers(to, &it.status_changes),
        ok_ps: integers(to, &it.ok_ps),
        access_max_ps: integers(to, &it.access_max_ps),
        attempt_max_ps: integers(to, &it.attempt_max_ps),
    )
}

fn stations<'py>(to: &To<'py>, it: &StationCounts) -> Made<'py> {
    if it.frames.is_empty() {
        return to.getattr("NO_STATIONS");
    }
    let squares =
        it.delay_ps2.iter().map(|&ps2| Ok(ps2.into_pyobject(to.py())?.into_any().unbind()));
    structure!(to, "StationCounts",
        frames: integers(to, &it.frames),
        bits: integers(to, &it.bits),
        charged_ps: integers(to, &it.charged_ps),
        collisions: integers(to, &it.collisions),
        late_collisions: integers(to, &it.late_collisions),
        discarded: integers(to, &it.discarded),
        resumed: integers(to, &it.resumed),
        offered: integers(to, &it.offered),
        dropped: integers(to, &it.dropped),
        damaged: integers(to, &it.damaged),
        delay_ps: integers(to, &it.delay_ps),
        delay_ps2: squares.collect::<PyResult<Vec<Py<PyAny>>>>()?.into_pyarray(to.py()),
        access_ps: integers(to, &it.access_ps),
        response_ps: integers(to, &it.response_ps),
        waiting_ps: integers(to, &it.waiting_ps),
        offered_load: it.offered_load.clone().into_pyarray(to.py()),
        batches: station_batches(to, &it.batches, it.frames.len())?,
        voice: it.voice.as_ref().map(|of| station_voice(to, of)).transpose()?,
    )
}

fn station_batches<'py>(to: &To<'py>, it: &StationBatches, stations: usize) -> Made<'py> {
    let shape = [it.frames.len().checked_div(stations).unwrap_or(0), stations];
    structure!(to, "StationBatches",
        frames: array(to, it.frames.iter().map(|&frames| i64::from(frames)), shape)?,
        charged_ps: array(to, it.charged_ps.iter().copied().map(integer), shape)?,
        delay_ps: array(to, it.delay_ps.iter().copied().map(integer), shape)?,
        delay_ps2: array(to, it.delay_ps2.iter().copied().map(float), shape)?,
    )
}

fn station_voice<'py>(to: &To<'py>, it: &StationVoice) -> Made<'py> {
    structure!(to, "StationVoice",
        samples: integers(to, &it.samples),
        samples_delivered: integers(to, &it.samples_delivered),
        samples_lost: integers(to, &it.samples_lost),
        samples_buffered: integers(to, &it.samples_buffered),
        voice_frames: integers(to, &it.voice_frames),
        voice_delay_ps: column(to, it.voice_delay_ps.iter().copied().map(float)),
        samples_sent: integers(to, &it.samples_sent),
        sample_delay_ps: column(to, it.sample_delay_ps.iter().copied().map(float)),
        voice_delay: histogram(to, &it.voice_delay)?,
        sample_delay: histogram(to, &it.sample_delay)?,
    )
}

fn flows<'py>(to: &To<'py>, all: &[FlowCounts], window_ps: u64) -> Made<'py> {
    if all.is_empty() {
        return to.getattr("NO_FLOWS");
    }
    let clocks: Option<Vec<_>> = some(all, |flow| flow.clocks.as_ref(), ClockDelays::default);
    integers_of!(to, "FlowCounts", all.iter(), all.len(),
        [offered, dropped, messages, frames, octets, data_octets, arrived, answers,
         answer_octets, completed, timed_out],
        balance: balance(to, all.iter().map(|flow| &flow.balance))?,
        offered_ps: column(to, all.iter().map(|_| integer(window_ps))),
        received_ps: column(to, all.iter().map(|_| integer(window_ps))),
        // All that waits is sent in time, and between two hosts there is one path, which keeps the
        // order of frames.
        queued: column(to, all.iter().map(|_| 0_i64)),
        reordered: column(to, all.iter().map(|_| 0_i64)),
        duplicates: column(to, all.iter().map(|_| 0_i64)),
        one_way: delays(to, all.iter().map(|flow| &flow.one_way), all.len())?,
        answer_one_way: delays(to, all.iter().map(|flow| &flow.answer_one_way), all.len())?,
        round_trip: delays(to, all.iter().map(|flow| &flow.round_trip), all.len())?,
        answer_round_trip: delays(to, all.iter().map(|flow| &flow.answer_round_trip), all.len())?,
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

fn flow_batches<'py>(to: &To<'py>, all: &[FlowCounts]) -> Made<'py> {
    let batches = all.first().map_or(0, |flow| flow.batches.len());
    let every = || (0..batches).flat_map(|batch| all.iter().map(move |flow| &flow.batches[batch]));
    let shape = [batches, all.len()];
    integers_of!(to, "FlowBatch", every(), shape,
        [offered, dropped, arrived, messages, frames, octets, data_octets, moved_octets,
         completed, timed_out, arrivals_between, acknowledged],
        one_way_ps: array(to, every().map(|it| float(it.one_way_ps)), shape)?,
        round_trip_ps: array(to, every().map(|it| float(it.round_trip_ps)), shape)?,
        between_arrivals_ps: array(to, every().map(|it| float(it.between_arrivals_ps)), shape)?,
        acknowledgement_ps: array(to, every().map(|it| float(it.acknowledgement_ps)), shape)?,
    )
}

fn balance<'py, 'a>(to: &To<'py>, all: impl Iterator<Item = &'a Balance> + Clone) -> Made<'py> {
    let count = all.clone().count();
    let lost: Vec<i64> = all.clone().flat_map(|it| it.lost).map(integer).collect();
    let causes = Balance::default().lost.len();
    integers_of!(to, "Balance", all.clone(), count, [sent, copied, delivered, in_flight],
        lost: array(to, lost.into_iter(), [count, causes])?,
    )
}

fn delays<'py, 'a, D: IntoDimension + Copy>(
    to: &To<'py>,
    all: impl Iterator<Item = &'a Delays> + Clone,
    shape: D,
) -> Made<'py> {
    integers_of!(to, "Delays", all.clone(), shape, [count, max_ps],
        sum_ps: array(to, all.clone().map(|it| float(it.sum_ps)), shape)?,
        buckets: histograms(to, all.clone().map(|it| &it.buckets))?,
    )
}

fn transfers<'py>(to: &To<'py>, all: &[TransferCounts]) -> Made<'py> {
    let ends: Vec<&EndCounts> = all.iter().flat_map(|it| &it.ends).collect();
    let shape = [all.len(), 2];
    let windows: Vec<[u64; 3]> = (0..)
        .zip(&ends)
        .flat_map(|(end, it)| it.windows.iter().map(move |&(from, octets)| [end, from, octets]))
        .collect();
    let part = |index: usize| column(to, windows.iter().map(move |row| integer(row[index])));
    integers_of!(to, "TransferCounts", all.iter(), all.len(), [octets],
        whole_ps: column(to, all.iter().map(|it| optional(it.whole_ps.map(u128::from).map(float)))),
        ends: integers_of!(to, "EndCounts", ends.iter(), shape,
            [segments, retransmitted, timeouts, fast_retransmissions, acknowledgements],
            acknowledgement_delay: delays(
                to, ends.iter().map(|it| &it.acknowledgement_delay), shape)?,
            windows: structure!(to, "Windows",
                entity: part(0), from_ps: part(1), octets: part(2))?,
        )?,
    )
}

fn flow_voice<'py>(to: &To<'py>, all: &[FlowVoice]) -> Made<'py> {
    let lost: Vec<i64> = all.iter().flat_map(|it| it.lost).map(integer).collect();
    let causes = Balance::default().lost.len();
    integers_of!(to, "FlowVoice", all.iter(), all.len(), [delivered, under_way],
        host: integers_of!(to, "HostSamples", all.iter().map(|it| &it.host), all.len(),
            [made, sent, lost, left],)?,
        lost: array(to, lost.into_iter(), [all.len(), causes])?,
        voice_delay: delays(to, all.iter().map(|it| &it.voice_delay), all.len())?,
        sample_delay: delays(to, all.iter().map(|it| &it.sample_delay), all.len())?,
    )
}

fn clock_delays<'py>(to: &To<'py>, all: &[ClockDelays]) -> Made<'py> {
    let has_any = all.iter().any(|it| it.synchronised.is_some());
    let each: Vec<SynchronisedDelays> =
        all.iter().map(|it| it.synchronised.clone().unwrap_or_default()).collect();
    let synchronised = || {
        integers_of!(to, "SynchronisedDelays", each.iter(), each.len(),
            [unrelated, before_sent, error_most_ps, contradictions],
            delays: signed(to, each.iter().map(|it| &it.delays))?,
            estimate: estimates(to, each.iter().map(|it| it.estimate.as_ref()))?,
            delay_uncertainty_ns: column(
                to, each.iter().map(|it| optional(it.delay_uncertainty_ns))),
        )
    };
    structure!(to, "ClockDelays",
        clock: signed(to, all.iter().map(|it| &it.clock))?,
        synchronised: has_any.then(synchronised).transpose()?,
    )
}

fn clock_pairs<'py>(to: &To<'py>, all: &[ClockPair]) -> Made<'py> {
    if all.is_empty() {
        return to.getattr("NO_CLOCK_PAIRS");
    }
    integers_of!(to, "ClockPair", all.iter(), all.len(), [requests, answered, lost],
        sender: column(to, all.iter().map(|it| i64::from(it.sender))),
        receiver: column(to, all.iter().map(|it| i64::from(it.receiver))),
        balance: balance(to, all.iter().map(|it| &it.balance))?,
        estimate: estimates(to, all.iter().map(|it| it.estimate.as_ref()))?,
    )
}

#[allow(clippy::cast_precision_loss)] // readings and numbers of exchanges
fn estimates<'py, 'a>(
    to: &To<'py>,
    all: impl Iterator<Item = Option<&'a ClockEstimate>> + Clone,
) -> Made<'py> {
    let part =
        |pick: fn(&ClockEstimate) -> f64| column(to, all.clone().map(|it| optional(it.map(pick))));
    structure!(to, "ClockEstimate",
        at_ns: part(|it| it.at_ns as f64),
        offset_ns: part(|it| it.offset_ns),
        uncertainty_ns: part(|it| it.uncertainty_ns),
        drift: part(|it| it.drift),
        drift_uncertainty: part(|it| it.drift_uncertainty),
        contradictions: part(|it| it.contradictions as f64),
        kept: part(|it| it.kept as f64),
        fastest_round_trip_ns: part(|it| it.fastest_round_trip_ns),
        delay_uncertainty_ns: part(|it| optional(it.delay_uncertainty_ns)),
    )
}

#[allow(clippy::cast_precision_loss)] // rounded once, as `ethermeter.counts` has it
fn signed<'py, 'a>(to: &To<'py>, all: impl Iterator<Item = &'a SignedDelays> + Clone) -> Made<'py> {
    let rows = (0..).zip(all.clone()).flat_map(|(entity, it)| {
        it.buckets.iter().map(move |&(low, high, count)| [entity, low, high, integer(count)])
    });
    structure!(to, "SignedDelays",
        count: column(to, all.clone().map(|it| integer(it.count))),
        sum_ps: column(to, all.clone().map(|it| it.sum_ps as f64)),
        buckets: buckets(to, rows)?,
    )
}

fn ports<'py>(to: &To<'py>, all: &[PortCounts]) -> Made<'py> {
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
fn classes<'py>(to: &To<'py>, all: &[PortCounts]) -> Made<'py> {
    let every: Vec<(i64, i64, &ClassCounts)> = (0..)
        .zip(all)
        .flat_map(|(port, it)| (0..).zip(&it.classes).map(move |(class, of)| (port, class, of)))
        .collect();
    integers_of!(to, "ClassCounts", every.iter().map(|(_, _, it)| it), every.len(),
        [arrived, frames, octets, dropped, queue_most, queue_octets_most],
        port: column(to, every.iter().map(|(port, _, _)| *port)),
        number: column(to, every.iter().map(|(_, class, _)| *class)),
    )
}

fn histogram<'py>(to: &To<'py>, of: &Buckets) -> Made<'py> {
    histograms(to, std::iter::once(of))
}

fn histograms<'py, 'a>(to: &To<'py>, all: impl Iterator<Item = &'a Buckets>) -> Made<'py> {
    let rows = (0..).zip(all).flat_map(|(entity, it)| {
        it.iter()
            .map(move |&(low, high, count)| [entity, integer(low), integer(high), integer(count)])
    });
    buckets(to, rows)
}

fn buckets<'py>(to: &To<'py>, rows: impl Iterator<Item = [i64; 4]>) -> Made<'py> {
    let rows: Vec<[i64; 4]> = rows.collect();
    let part = |index: usize| column(to, rows.iter().map(move |row| row[index]));
    structure!(to, "Buckets",
        entity: part(0), low_ps: part(1), high_ps: part(2), count: part(3))
}

fn array<'py, T: Element, D: IntoDimension>(
    to: &To<'py>,
    values: impl Iterator<Item = T>,
    shape: D,
) -> Made<'py> {
    Ok(values.collect::<Vec<T>>().into_pyarray(to.py()).reshape(shape)?.into_any())
}

fn column<'py, T: Element>(to: &To<'py>, values: impl Iterator<Item = T>) -> Bound<'py, PyAny> {
    values.collect::<Vec<T>>().into_pyarray(to.py()).into_any()
}

fn integers<'py>(to: &To<'py>, values: &[u64]) -> Bound<'py, PyAny> {
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
