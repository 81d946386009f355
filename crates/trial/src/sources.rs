//! What is wrong with the parts of a source: lengths, times, a generator, calls.

use crate::fault::{Checked, Faults};
use crate::limits::LONGEST_PS;
use ethermeter_traffic::admission::{Calls, MOST_CALLS, SHORTEST_BETWEEN_PS};
use ethermeter_traffic::generator::{Generator, MOST_BUFFERS};
use ethermeter_traffic::lengths::Lengths;
use ethermeter_traffic::times::Times;

impl Checked for Lengths {
    fn check(&self, faults: &mut Faults) {
        if let Some(what) = self.fault() {
            faults.add("", what);
        }
    }
}

impl Checked for Times {
    fn check(&self, faults: &mut Faults) {
        if let Some(what) = self.fault() {
            faults.add("", what);
        }
    }
}

impl Checked for Generator {
    fn check(&self, faults: &mut Faults) {
        faults.range("buffers", self.buffers, 1, MOST_BUFFERS.into());
        faults.within("time", |faults| self.time.check(faults));
    }
}

impl Checked for Calls {
    fn check(&self, faults: &mut Faults) {
        faults.range("every_ps", self.every_ps, SHORTEST_BETWEEN_PS.into(), LONGEST_PS);
        faults.within("duration", |faults| self.duration.check(faults));
        if let Some(most) = self.most {
            faults.range("most", most, 1, MOST_CALLS.into());
        }
        if let Some(listen_ps) = self.listen_ps {
            faults.range("listen_ps", listen_ps, 1, LONGEST_PS);
            if self.most.is_none() {
                faults.add("listen_ps", "must be given with most, the number of calls it is for");
            }
        }
    }
}
