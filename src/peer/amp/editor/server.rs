//! The mock editor on its socket: listening, letting clients in, ending in an orderly way.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::trace::End;
use crate::wire::tcp::{self, accept_retrying};
use crate::wire::websocket::{self, AcceptError};
use crate::wire::{Limits, Tap};

use super::edition::Edition;
use super::go_between;
use super::handshake::{self, Decision};
use super::quirks::{Quirks, Switch, Trigger};
use super::session::{self, Session};
use super::shared::{Phase, Shared, reached};

/// No message longer than this is taken, in bytes.
pub const MAX_MESSAGE: usize = 32 << 20;
/// How many connections there may be at a time, handshakes included.
const MAX_CONNECTIONS: usize = 512;
/// How many connections a fragile server stands.
const FEW_CONNECTIONS: u64 = 30;
/// How long a flaw lets a client wait for the answer to its handshake.
const WITHHELD: Duration = Duration::from_secs(60);
/// How long the end may take.
const GRACE: Duration = Duration::from_millis(1500);

const LIMITS: Limits = Limits {
    frame: MAX_MESSAGE,
    message: MAX_MESSAGE,
    backlog: 8 << 20,
    head: 16 << 10,
    body: 1 << 10,
    handshake: Duration::from_secs(5),
    write: Duration::from_secs(10),
};

/// Listens on a loopback address. The guide has clients scan ports from 8000 on, so that edition prefers those.
pub fn listen(edition: Edition, port: Option<u16>, quirks: &Quirks) -> io::Result<TcpListener> {
    let elsewhere = quirks.has(Switch::ListensElsewhere);
    let host = if elsewhere { Ipv4Addr::new(127, 0, 0, 2) } else { Ipv4Addr::LOCALHOST };
    // At the same port of 127.0.0.1 another editor may listen, which clients would take for this one.
    if port.is_none() && edition == Edition::Guide && !elsewhere {
        // Beginning anywhere, so that one that has just gone is not taken for the next one.
        let begin = u16::try_from(std::process::id() % 101).unwrap_or_default();
        for n in 0..=100 {
            if let Ok(listener) = tcp::listen((host, 8000 + (begin + n) % 101)) {
                return Ok(listener);
            }
        }
    }
    tcp::listen((host, port.unwrap_or(0)))
}

/// Lets clients in until the server is to end, and then ends their connections.
pub async fn run(listener: TcpListener, shared: Shared) {
    let mut sessions = JoinSet::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut count = 0;
    let mut phase = shared.phase();
    loop {
        let stream = tokio::select! {
            biased;
            () = reached(&mut phase, Phase::Closing) => break,
            Some(_) = sessions.join_next(), if !sessions.is_empty() => continue,
            (stream, _) = accept_retrying(|context| listener.poll_accept(context)) => stream,
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
        count += 1;
        if count > FEW_CONNECTIONS {
            shared.trigger(Trigger::Flood);
        }
        let shared = shared.clone();
        let quirks = shared.quirks();
        quirks.course().connection();
        let blocks = quirks.has(Switch::HandshakeBlocksOthers);
        let client = client(stream, shared.count_connection(), shared);
        if blocks {
            // The flaw: a handshake at a time.
            if let Some(session) = client.await {
                sessions.spawn(async move {
                    session.run().await;
                    drop(slot);
                });
            }
        } else {
            sessions.spawn(async move {
                if let Some(session) = client.await {
                    session.run().await;
                }
                drop(slot);
            });
        }
    }
    drop(listener);
    let _ = timeout(GRACE, async { while sessions.join_next().await.is_some() {} }).await;
}

/// Makes the handshake with a client. Gives its session if it is let in.
async fn client(stream: TcpStream, number: u64, shared: Shared) -> Option<Session> {
    let quirks = shared.quirks();
    let stream = go_between::before(stream, &quirks, &shared).await?;
    let tap = Tap::new(shared.recorder().clone(), format!("c{number}"), End::Server);
    let limits = match quirks.has(Switch::HandshakeBlocksOthers) {
        true => Limits { handshake: Duration::from_secs(3600), ..LIMITS },
        false => LIMITS,
    };
    let mut phase = shared.phase();
    let accepted = tokio::select! {
        accepted = websocket::accept(stream, tap, &limits) => accepted,
        () = reached(&mut phase, Phase::Closing) => return None,
    };
    let request = match accepted {
        Ok(request) => request,
        Err(error) => {
            match error {
                AcceptError::TooLong => shared.trigger(Trigger::HugeHead),
                AcceptError::NotHttp => shared.trigger(Trigger::BadHandshake),
                // Whoever looks whether the port accepts does no more than that.
                AcceptError::Left | AcceptError::TimedOut(_) | AcceptError::Broken(_) => {}
            }
            return None;
        }
    };
    if *phase.borrow() != Phase::Serving {
        reached(&mut phase, Phase::Closing).await;
        return None;
    }
    if request.fault().is_some() {
        shared.trigger(Trigger::BadHandshake);
    }
    let (request, decision) = handshake::decide(request, &shared.token(), &quirks, shared.crowd());
    match decision {
        Decision::Serve(reply) => Some(Session::new(shared, request.reply(&reply).await.ok()?)),
        Decision::Close(reply) => {
            session::reject(request.reply(&reply).await.ok()?).await;
            None
        }
        Decision::Refuse(reply) => {
            session::refuse(request.reply(&reply).await.ok()?).await;
            None
        }
        Decision::HangUp(why) => {
            request.hang_up(why).await;
            None
        }
        Decision::Withhold(why) => {
            let _ = timeout(WITHHELD, reached(&mut phase, Phase::Closing)).await;
            request.hang_up(why).await;
            None
        }
    }
}
