//! Plays the server to a client: performs the verbs of `amplifier-client` scenarios.
