//! Raw frames through `AF_XDP`.
