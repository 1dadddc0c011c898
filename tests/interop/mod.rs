mod kept;
mod our_client;
mod our_server;
mod theirs;
mod tungstenite;

/// Makes a test of each case against each software of theirs.
macro_rules! against_all {
    ($($case:ident)*) => {
        super::against_all! { @ python Python $($case)* }
        super::against_all! { @ node Node $($case)* }
        super::against_all! { @ tungstenite Tungstenite $($case)* }
    };
    (@ $name:ident $theirs:ident $($case:ident)*) => {
        mod $name {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case(super::Theirs::$theirs).await;
                }
            )*
        }
    };
}
use against_all;
