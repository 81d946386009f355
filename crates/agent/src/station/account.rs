//! Results of roles. Times of a role are since the beginning of the transmission.

use crate::result::{
    Buckets, Counts, PacingCounts, RequestBatches, RequesterClock, RequesterCounts,
    ResponderCounts, SenderCounts, SinkCounts, SpeechResult, SpeechWindow, StationResponses,
    StreamBatches, StreamCounts, StreamWindow, TalkCounts, TalkWindow,
};
use ethermeter_live::clock::Relation;
use ethermeter_live::pacing::{Achieved, Priority};
use ethermeter_live::roles::{self, RequestBatch, Sent, SpeechCounts, StreamBatch, Sunk, Talked};
use ethermeter_traffic::{Batches, Histogram};

/// A time of the host as a time since `begin_ns`.
pub(super) fn since(at_ns: Option<u64>, begin_ns: u64) -> Option<i64> {
    at_ns.map(|at_ns| at_ns.wrapping_sub(begin_ns).cast_signed())
}

pub(super) fn histogram(histogram: &Histogram) -> Buckets {
    let shares =
        [("0.01", 0.01), ("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99), ("0.999", 0.999), ("1", 1.0)];
    Buckets {
        total: histogram.total(),
        quantiles_ps: shares
            .map(|(name, share)| (name.to_owned(), histogram.quantile_ps(share)))
            .into(),
        buckets: histogram.filled(),
    }
}

/// A column over batches.
pub(super) fn column<B, T>(parts: &[B], pick: impl Fn(&B) -> T) -> Vec<T> {
    parts.iter().map(pick).collect()
}

fn of_stream_batches(batches: &Batches<StreamBatch>) -> StreamBatches {
    let parts = batches.counted();
    StreamBatches {
        frames: column(&parts, |part| part.frames),
        payload_octets: column(&parts, |part| part.payload_octets),
        delays: column(&parts, |part| part.delays),
        delay_sum_ns: column(&parts, |part| part.delay_ns),
        spacings: column(&parts, |part| part.spacings),
        spacing_sum_ns: column(&parts, |part| part.spacing_ns),
    }
}

fn of_request_batches(batches: &Batches<RequestBatch>) -> RequestBatches {
    let parts = batches.counted();
    // What is less than a nanosecond of a batch's sum is left out.
    let sum_ns =
        |part: &RequestBatch| u64::try_from(part.since_arrival_ps / 1000).unwrap_or(u64::MAX);
    RequestBatches {
        requests: column(&parts, |part| part.requests),
        complete: column(&parts, |part| part.complete),
        since_arrival_sum_ns: column(&parts, sum_ns),
    }
}

pub(super) fn of_sent(sent: &Sent, begin_ns: u64, priority: Option<Priority>) -> Counts {
    Counts::Sender(Box::new(SenderCounts {
        frames: sent.frames,
        payload_octets: sent.payload_octets,
        untaken: sent.untaken,
        first_ns: since(sent.first_ns, begin_ns),
        last_ns: since(sent.last_ns, begin_ns),
        pacing: pacing(&sent.achieved, sent.breaths, priority),
        rests: Some(sent.rests),
        trial: sent.trial,
        voice: None,
    }))
}

/// How far from their times frames were sent.
fn pacing(achieved: &Achieved, breaths: u64, priority: Option<Priority>) -> PacingCounts {
    PacingCounts {
        frames: achieved.frames(),
        share_on_time: achieved.share_on_time(),
        worst_ns: achieved.worst_ns(),
        lateness: histogram(achieved.lateness()),
        breaths,
        real_time: priority.map(|priority| priority == Priority::Fifo),
    }
}

/// Of voice: what a stream has, and its samples.
pub(super) fn of_talked(talked: &Talked, begin_ns: u64, priority: Option<Priority>) -> Counts {
    Counts::Sender(Box::new(SenderCounts {
        frames: talked.packets,
        payload_octets: talked.payload_octets,
        untaken: talked.untaken,
        first_ns: since(talked.first_ns, begin_ns),
        last_ns: since(talked.last_ns, begin_ns),
        pacing: pacing(&talked.achieved, talked.breaths, priority),
        rests: None,
        trial: None,
        voice: Some(TalkCounts {
            samples: talked.samples,
            most_samples: talked.most_samples,
            waited: talked.waited,
            wait: histogram(&talked.wait),
            measured: TalkWindow {
                packets: talked.measured_packets,
                made: talked.measured.made,
                sent: talked.measured.sent,
                lost: talked.measured.lost,
                left: talked.measured.left,
            },
        }),
    }))
}

fn of_speech(speech: &SpeechCounts) -> SpeechResult {
    SpeechResult {
        packets: speech.packets,
        samples: speech.samples,
        measured: SpeechWindow {
            packets: speech.measured_packets,
            samples: speech.measured,
            voice_delay: histogram(&speech.voice_delay),
            sample_delay: histogram(&speech.sample_delay),
        },
    }
}

fn of_stream(stream: &roles::StreamCounts, begin_ns: u64) -> StreamCounts {
    let account = stream.sequence.account(None);
    StreamCounts {
        received: account.received,
        highest_sequence: account.sent.checked_sub(1),
        reordered: account.reordered,
        duplicate: account.duplicate,
        late: account.late,
        foreign: account.foreign,
        gaps: account.gaps,
        longest_gap: account.longest_gap,
        farthest_reordered: account.farthest_reordered,
        measured: StreamWindow {
            frames: stream.frames,
            payload_octets: stream.payload_octets,
            first_ns: since(stream.first_ns, begin_ns),
            last_ns: since(stream.last_ns, begin_ns),
            goodput_bps: stream.goodput_bps(),
            delay: histogram(&stream.delay),
            before_sent: stream.before_sent,
            unrelated: stream.unrelated,
            spacing: histogram(&stream.spacing),
            batches: of_stream_batches(&stream.batches),
        },
        voice: (stream.speech.packets > 0).then(|| of_speech(&stream.speech)),
    }
}

pub(super) fn of_sunk(sunk: &Sunk, begin_ns: u64, clock: Option<String>) -> Counts {
    Counts::Sink(Box::new(SinkCounts {
        stream: sunk.streams.first().map(|stream| of_stream(stream, begin_ns)),
        strange: sunk.strange,
        unmarked: sunk.unmarked,
        longest_absence_ns: sunk.longest_absence_ns,
        clock,
    }))
}

pub(super) fn of_requester(asked: &roles::RequesterCounts) -> Counts {
    let middle =
        asked.exchanges.get(asked.exchanges.len() / 2).map(|exchange| exchange.requested_ns);
    let clock = Relation::fitted(&asked.exchanges).ok().zip(middle).map(|(relation, at_ns)| {
        RequesterClock {
            offset_ns: relation.offset_ns(at_ns),
            uncertainty_ns: relation.uncertainty_ns(at_ns),
            drift: relation.drift(),
            contradictions: relation.contradictions(),
        }
    });
    let of_station = |one: &roles::StationResponses| StationResponses {
        station: one.station.to_string(),
        answered: one.answered,
        round_trip: histogram(&one.round_trip),
    };
    Counts::Requester(Box::new(RequesterCounts {
        requests: asked.requests,
        answered: asked.answered,
        lost: asked.lost,
        strange: asked.strange,
        fastest_ns: asked.fastest_ns,
        round_trip: histogram(&asked.round_trip),
        since_arrival: histogram(&asked.since_arrival),
        unasked: asked.unasked,
        pacing: pacing(&asked.achieved, asked.breaths, None),
        clock,
        complete: asked.complete,
        by_station: column(&asked.by_station, of_station),
        batches: of_request_batches(&asked.batches),
        whole_round: (!asked.by_station.is_empty()).then(|| histogram(&asked.whole_round)),
    }))
}

pub(super) fn of_responder(counted: &roles::ResponderCounts) -> Counts {
    Counts::Responder(Box::new(ResponderCounts {
        requests: counted.requests,
        request_octets: counted.request_octets,
        answered: counted.answered,
        untaken: counted.untaken,
        not_allowed: counted.not_allowed,
        strange: counted.strange,
        unanswered: counted.unanswered,
        pacing: pacing(&counted.achieved, 0, None),
    }))
}
