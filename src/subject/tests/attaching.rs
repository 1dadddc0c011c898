//! Subjects that run already.

use super::{run_dir, server, start};
use crate::config::{Access, SubjectSpec, Target};
use crate::subject::testing::{Trace, spec};
use crate::subject::{Running, SubjectError};

fn attached(target: Target) -> SubjectSpec {
    SubjectSpec { access: Access::Attach { target, workspace: None }, ..spec(&["true"]) }
}

#[tokio::test]
async fn one_that_runs_already_is_found_and_left_alone() {
    let spec = server(&[]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let url = format!("ws://127.0.0.1:{}?secret=hush-hush", running.lock().unwrap().port);
    let lockfile = running.lockfile_path().unwrap().to_owned();
    for target in [Target::Url(url), Target::Lockfile(lockfile), Target::DataHome(run_dir.data_home())] {
        let trace = Trace::new();
        let other = Running::attach(&attached(target.clone()), trace.recorder()).await.unwrap();
        assert_eq!(
            (other.lock().unwrap().port, other.lock().unwrap().token.as_str()),
            (running.lock().unwrap().port, "hush-hush")
        );
        assert!(!other.is_ours() && other.alive().await && other.workspace().is_none());
        assert!(other.signal("TERM").is_err());
        other.stop().await;
        assert!(running.alive().await, "{target:?}");
    }
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_attached_to_is_told_with_what_was_seen() {
    async fn error(target: Target) -> SubjectError {
        Running::attach(&attached(target), Trace::new().recorder()).await.err().unwrap()
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("test/ide");
    std::fs::create_dir_all(&folder).unwrap();
    let none = error(Target::DataHome(home.path().to_owned())).await;
    assert_eq!(none.to_string(), format!("could not attach: no live lockfile in {}", folder.display()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for name in ["a.json", "b.json"] {
        std::fs::write(folder.join(name), format!(r#"{{"port":{port}}}"#)).unwrap();
    }
    let two = error(Target::DataHome(home.path().to_owned())).await;
    assert_eq!(two.to_string(), format!("could not attach: 2 of them run in {}", folder.display()));
    assert_eq!(two.diagnostic().help, ["choose one with `--lockfile FILE`"]);
    let dead = error(Target::Url("ws://127.0.0.1:1?secret=x".to_owned())).await;
    assert_eq!(dead.to_string(), "could not attach: nothing accepts connections at port 1 of this machine");
    let torn = folder.join("torn.json");
    std::fs::write(&torn, "{").unwrap();
    let torn = error(Target::Lockfile(torn)).await;
    assert!(torn.to_string().contains("torn.json is of no use: it is no JSON"), "{torn}");
}
