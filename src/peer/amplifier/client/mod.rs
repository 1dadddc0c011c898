//! Plays the extension to a server: performs the verbs of `amplifier-server` scenarios.
