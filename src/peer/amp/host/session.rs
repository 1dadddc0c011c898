//! What an editor does by itself on a connection: it answers requests, and passes notifications on.

use tokio::sync::{mpsc, watch};

use crate::peer::amp::editor::outgoing::Outgoing;
use crate::peer::amp::editor::shared::{Order, Shared};
use crate::protocol::amp::{PROBE, envelope};
use crate::trace::Message;
use crate::wire::websocket::{FrameSpec, Incoming, Receiver, SendError, Sender, opcode};

use super::connection::Connection;
use super::serve::Plan;

/// Serves a client to its end. Its requests are answered as the plan says; the payloads of pongs that answer barriers go
/// to `pong` in any case.
pub async fn run(
    shared: Shared,
    connection: &Connection,
    sender: Sender,
    mut incoming: Receiver,
    plan: &Plan,
    pong: watch::Sender<String>,
) {
    let (number, mut orders) = shared.join();
    let mut talking = true;
    loop {
        let sent = tokio::select! {
            biased;
            order = next(&mut orders), if talking => match order {
                Some(order) => obey(&sender, order).await,
                // It does not read, and too much waited for it.
                None => {
                    sender.shutdown().await;
                    break;
                }
            },
            arrived = incoming.recv() => match arrived.inspect(|arrived| {
                if matches!(arrived, Incoming::Message(_)) {
                    connection.note_use();
                }
            }) {
                None | Some(Incoming::Closed(_)) => break,
                Some(Incoming::Frame(frame)) if frame.opcode == opcode::PONG => {
                    if let Some(payload) = frame.payload.as_text().filter(|payload| payload.starts_with(PROBE)) {
                        pong.send_replace(payload.to_owned());
                    }
                    Ok(())
                }
                Some(Incoming::Message(message)) if talking && answers(plan, &message) => {
                    answer(&shared, number, &sender, &message).await
                }
                Some(_) => Ok(()),
            },
        };
        // Whoever takes no answers may still be heard.
        talking &= sent.is_ok();
    }
    shared.leave(number);
}

/// Whether the editor answers a message by itself.
fn answers(plan: &Plan, message: &Message) -> bool {
    let request = message.json.as_ref().and_then(|json| envelope::request(plan.edition.id(), json));
    let method = request.and_then(|request| request.method);
    plan.answers && method.is_none_or(|method| plan.withholds.iter().all(|withheld| withheld != method))
}

async fn next(orders: &mut mpsc::Receiver<Order>) -> Option<Order> {
    orders.recv().await
}

async fn obey(sender: &Sender, order: Order) -> Result<(), SendError> {
    let sent = send(sender, &order.message).await;
    if let Some(done) = order.done {
        // Whoever gave the order may have stopped waiting.
        let _ = done.send(());
    }
    sent
}

async fn answer(shared: &Shared, number: u64, sender: &Sender, message: &Message) -> Result<(), SendError> {
    let bytes = match (&message.json, &message.payload) {
        (Some(json), _) => json.to_string().into_bytes(),
        (None, payload) => payload.as_ref().map(|payload| payload.as_bytes().to_vec()).unwrap_or_default(),
    };
    for answer in shared.serve(number, &bytes).answers {
        send(sender, &answer).await?;
    }
    Ok(())
}

async fn send(sender: &Sender, message: &Outgoing) -> Result<(), SendError> {
    let frame = FrameSpec::new(opcode::TEXT, message.bytes.clone());
    sender.send_unless_closing(&frame, message.deliberate).await
}
