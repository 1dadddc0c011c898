//! The mock provider over HTTP.
