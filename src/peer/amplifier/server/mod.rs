//! The mock server: sessions, a scripted agent behind them, event streams and WebSockets.
