//! The figures of a trial.

/// What became of samples; one entry a station.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // field by field in docs/formats.md
pub struct VoiceOutcome {
    pub station_samples: Vec<u64>,
    pub station_samples_delivered: Vec<u64>,
    pub station_samples_lost: Vec<u64>,
    pub station_samples_buffered: Vec<u64>,
    pub station_voice_delay_s: Vec<f64>,
    pub station_sample_delay_s: Vec<f64>,
    pub voice_delay: Vec<(u64, u64, u64)>,
    pub sample_delay: Vec<(u64, u64, u64)>,
}

/// What a trial gave; one entry a station, or a row a batch. Units are in the names;
/// docs/formats.md defines each.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // field by field in docs/formats.md
pub struct Outcome {
    pub station_frames: Vec<u64>,
    pub station_bits: Vec<u64>,
    pub station_charged_ps: Vec<u64>,
    pub station_attempts: Vec<u64>,
    pub station_collisions: Vec<u64>,
    pub station_late_collisions: Vec<u64>,
    pub station_discarded: Vec<u64>,
    pub station_resumed: Vec<u64>,
    pub station_offered: Vec<u64>,
    pub station_dropped: Vec<u64>,
    pub station_damaged: Vec<u64>,
    pub station_delay_s: Vec<f64>,
    pub station_delay_sd_s: Vec<f64>,
    pub station_access_s: Vec<f64>,
    pub station_response_s: Vec<f64>,
    pub station_waiting: Vec<f64>,
    pub station_offered_load: Vec<f64>,
    pub batch_frames: Vec<u32>,
    pub batch_charged_ps: Vec<u64>,
    pub batch_delay_sum_s: Vec<f64>,
    pub batch_delay_square_sum_s2: Vec<f64>,
    /// Frame, preamble, gap, collision, idle.
    pub time_ps: [u64; 5],
    pub window_ps: u64,
    /// Frames by their attempts; index 0 is one attempt.
    pub attempts_per_frame: Vec<u64>,
    /// Collisions by their transmitters; index 0 is two (or one, cut off by a carrier whose sender
    /// did not notice).
    pub colliders: Vec<u64>,
    pub transmission_delay: Vec<(u64, u64, u64)>,
    pub access_delay: Vec<(u64, u64, u64)>,
    /// Only when some source is not saturated.
    pub response_time: Option<Vec<(u64, u64, u64)>>,
    /// Only when some station sends voice.
    pub voice: Option<VoiceOutcome>,
    pub cautions: Vec<&'static str>,
    /// Attempts in the whole trial.
    pub events: u64,
}
