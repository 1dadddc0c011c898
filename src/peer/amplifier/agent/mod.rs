//! The reference client: plays `amplifier-client`, driven by lines on stdin and stdout.
