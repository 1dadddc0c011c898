//! The client against providers that say whatever a test wants.
