//! The thread of a coordinator's connections.

use ethermeter_net::pacing::PriorityGuard;
use std::future::Future;
use std::io;
use std::thread::Builder;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// A thread for connections and what must not wait on them: the renewal of leases. It runs before
/// roles where the operator allows it, and ends when this value goes.
pub(super) struct ConnectionThread {
    runtime: runtime::Handle,
    /// Its end goes with this value.
    _going: oneshot::Sender<()>,
}

impl ConnectionThread {
    /// Begin without work.
    ///
    /// # Errors
    /// If the system refuses a thread, or its runtime.
    pub fn begin() -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (going, gone) = oneshot::channel();
        let handle = runtime.handle().clone();
        Builder::new().name("connections".into()).spawn(move || {
            let _priority = PriorityGuard::above_roles_where_allowed();
            let _ = runtime.block_on(gone); // nothing is ever sent
        })?;
        Ok(Self { runtime: handle, _going: going })
    }

    /// Do work on the thread; it ends early if what is returned is dropped.
    ///
    /// # Errors
    /// If the work has panicked.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = io::Result<T>> {
        let task = self.runtime.spawn(work);
        let aborting = Aborting(task.abort_handle());
        async move {
            let outcome = task.await;
            drop(aborting);
            outcome.map_err(io::Error::other)
        }
    }
}

/// Aborts a task when it goes.
struct Aborting(AbortHandle);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}
