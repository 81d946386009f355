//! Explains a capture: JSON on stdout, packets per CPU-second on stderr; with `--packets`, what
//! every TCP segment meant, one line each.
//!
//! ```text
//! explain-json FILE
//! explain-json --packets FILE       number · connection · end · findings as `name` or `name=value`
//! ```

use ethermeter_capture::connection::{BackwardSegment, Evidence, SegmentMeaning};
use ethermeter_capture::explain::{Explainer, explain};
use ethermeter_capture::input::CaptureInput;
use ethermeter_capture::{CaptureError, CaptureReader, json};
use std::io::{BufWriter, Write};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--packets", path] => Ok(packets(path)?),
        [path] => Ok(explain_file(path)?),
        _ => Err("explain-json [--packets] FILE".into()),
    }
}

fn open(path: &str) -> Result<CaptureInput, CaptureError> {
    CaptureInput::open(Path::new(path)).map_err(|source| CaptureError::System { at: 0, source })
}

fn explain_file(path: &str) -> Result<(), CaptureError> {
    let before_s = cpu_s();
    let explanation = explain(open(path)?, |_| true)?;
    let spent_s = cpu_s() - before_s;
    #[allow(clippy::cast_precision_loss)] // a rate
    let rate = explanation.packets as f64 / spent_s;
    eprintln!(
        "{} packets in {spent_s:.2} CPU-seconds: {:.2} M packets per CPU-second; at most {} kB resident",
        explanation.packets,
        rate / 1e6,
        resident_kb()
    );
    println!("{}", json::to_json(&explanation));
    Ok(())
}

/// Time that this process has had the processor, user and system, from the system's own account.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns: f64 =
        text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
    ns / 1e9
}

/// Most memory that this process has had at once.
fn resident_kb() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |rest| rest.trim().trim_end_matches(" kB").to_owned())
}

fn packets(path: &str) -> Result<(), CaptureError> {
    let mut capture = CaptureReader::new(open(path)?)?;
    let mut explainer = Explainer::default();
    let mut to = BufWriter::new(std::io::stdout().lock());
    let mut number = 0;
    while let Some(packet) = capture.read_packet()? {
        number += 1;
        let Some(record) = explainer.packet(&packet) else { continue };
        let line =
            format!("{number} {} {} {}", record.connection, record.from, words(&record.finding));
        writeln!(to, "{line}")
            .map_err(|source| CaptureError::System { at: capture.octets(), source })?;
    }
    Ok(())
}

fn words(finding: &SegmentMeaning) -> String {
    let mut words = Vec::new();
    if let Some((again, basis)) = finding.again {
        let again = if again == BackwardSegment::Resent { "resent" } else { "late" };
        let basis = match basis {
            Evidence::Seen => "seen",
            Evidence::Timestamp => "timestamp",
            Evidence::Timing => "timing",
        };
        words.push(format!("{again}={basis}"));
    }
    for (is_so, name) in [
        (finding.is_needless, "needless"),
        (finding.follows_hole, "hole"),
        (finding.is_duplicate_ack, "duplicate"),
        (finding.is_repeated_ack, "repeated"),
        (finding.is_zero_window, "zero"),
        (finding.is_keep_alive, "keep-alive"),
        (finding.is_probe, "probe"),
        (finding.is_ambiguous, "ambiguous"),
    ] {
        if is_so {
            words.push(name.to_owned());
        }
    }
    for (value, name) in
        [(finding.acknowledges_after_ns, "after"), (finding.handshake_ns, "handshake")]
    {
        if let Some(ns) = value {
            words.push(format!("{name}={ns}"));
        }
    }
    words.join(" ")
}
