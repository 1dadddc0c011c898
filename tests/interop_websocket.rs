//! Our WebSocket client and server against software that others wrote: python `websockets`, node `ws`,
//! and tokio-tungstenite. `tests/interop/setup` installs the first two.
