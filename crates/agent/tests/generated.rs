//! The code of the protocol is checked in, so that a build needs no compiler of protocols.

use std::path::Path;

#[test]
fn code_of_the_protocol_is_current() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let files = protox::compile(["proto/agent.proto"], ["proto"]).expect("a sound protocol");
    tonic_prost_build::configure().out_dir(directory).compile_fds(files).expect("code of it");
    let read = |path: &Path| std::fs::read_to_string(path).expect("generated code");
    let (new, old) = (directory.join("ethermeter.agent.v1.rs"), "proto/ethermeter.agent.v1.rs");
    assert!(
        read(&new) == read(Path::new(old)),
        "crates/agent/{old} is not what proto/agent.proto generates: cp {} crates/agent/{old}",
        new.display()
    );
}
