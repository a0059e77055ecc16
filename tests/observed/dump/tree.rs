//! Parents of fibres, and groups that are cancelled together: in JSON, and as a tree.

use crate::support::process::{end_after, errors, plays, spawn_child};
use crate::support::{any_cluster, eventually, processor_counts};
use fibre::sync::Event;
use fibre::{Builder, CancelToken, Cluster, Format};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How many fibres one of them spawns: more than are shown below one.
const MANY: usize = 120;

/// A dump.
fn dump(format: Format) -> String {
    let mut text = Vec::new();
    fibre::dump(&mut text, format).unwrap();
    String::from_utf8(text).unwrap()
}

/// Waits for the event, as a child of the caller's.
fn spawn_waiting(go: &Arc<Event>, name: &str, token: Option<&CancelToken>) -> u64 {
    let builder = Builder::new().name(name);
    let builder = match token {
        Some(token) => builder.cancel_token(token),
        None => builder,
    };
    let go = Arc::clone(go);
    builder.spawn(move || go.wait()).unwrap().id()
}

/// The numbers of the fibres.
#[derive(Debug, Clone, Copy)]
struct Ids {
    root: u64,
    middle: u64,
    leaf: u64,
    gone: u64,
    orphan: u64,
    crowd: u64,
}

/// A fibre with a child that has a child; a fibre with a parent that has ended; and one with many
/// children.
fn family(cluster: &Cluster, go: &Arc<Event>, [outer, inner]: &[CancelToken; 2]) -> Ids {
    let (tell, told) = channel();
    let waits = |tell: Sender<(&'static str, u64)>, go: &Arc<Event>, inner: &CancelToken| {
        let (go, inner) = (Arc::clone(go), inner.clone());
        move || {
            tell.send(("leaf", spawn_waiting(&go, "leaf", Some(&inner))))
                .unwrap();
            go.wait();
        }
    };
    let middle = waits(tell.clone(), go, inner);
    let (builder, waiting, tells) = (
        Builder::new().name("middle").cancel_token(outer),
        Arc::clone(go),
        tell.clone(),
    );
    let root = move || {
        tells
            .send(("middle", builder.spawn(middle).unwrap().id()))
            .unwrap();
        waiting.wait();
    };
    let root = Builder::new().name("root").spawn_in(cluster, root).unwrap();
    let waiting = Arc::clone(go);
    let gone = cluster.spawn(move || spawn_waiting(&waiting, "orphan", None));
    let waiting = Arc::clone(go);
    let crowd = cluster.spawn(move || {
        let all = (0..MANY).map(|_| spawn_waiting(&waiting, "one", None));
        tell.send(("crowd", all.count() as u64)).unwrap();
        waiting.wait();
    });
    let mut ids = Ids {
        root: root.id(),
        middle: 0,
        leaf: 0,
        gone: gone.id(),
        orphan: gone.join().unwrap(),
        crowd: crowd.id(),
    };
    for (name, id) in told.iter().take(3) {
        match name {
            "middle" => ids.middle = id,
            "leaf" => ids.leaf = id,
            _ => assert_eq!(id, MANY as u64),
        }
    }
    let all = MANY + 5;
    eventually(|| fibre::waits().len() == all);
    ids
}

/// The fibre of a dump in JSON with this number.
fn fibre_of(dump: &Value, id: u64) -> &Value {
    let groups = dump["groups"].as_array().unwrap().iter();
    let mut all = groups.flat_map(|group| group["fibres"].as_array().unwrap());
    all.find(|fibre| fibre["id"] == id).unwrap()
}

/// Checks a dump in JSON.
fn check_json(ids: Ids, parents: bool) {
    let dump: Value = serde_json::from_str(&dump(Format::Json)).unwrap();
    let parent = |id| match parents {
        true => json!(id),
        false => Value::Null,
    };
    for (id, expected) in [
        (ids.root, Value::Null),
        (ids.middle, parent(ids.root)),
        (ids.leaf, parent(ids.middle)),
        (ids.orphan, parent(ids.gone)),
        (ids.crowd, Value::Null),
    ] {
        assert_eq!(fibre_of(&dump, id)["parent"], expected, "{ids:?}");
    }
    // The inner group is that of a fibre, and the outer one that of its parent.
    let group = |id| fibre_of(&dump, id)["cancel_group"].clone();
    let (outer, inner) = (group(ids.middle), group(ids.leaf));
    let groups = dump["cancel_groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2, "{groups:?}");
    let numbered = |number: &Value| {
        groups
            .iter()
            .find(|group| group["number"] == *number)
            .unwrap()
    };
    assert_eq!(numbered(&inner)["outer"], outer);
    assert_eq!(numbered(&outer)["outer"], Value::Null);
    assert_eq!(numbered(&inner)["cancelled"], true);
    assert_eq!(numbered(&outer)["cancelled"], false);
    assert_eq!(group(ids.root), Value::Null);
}

/// Checks a dump as a tree.
fn check_tree(ids: Ids, parents: bool) {
    let text = dump(Format::Tree);
    let begins = |lead: &str, id: u64| {
        let begin = format!("{lead}fibre {id} ");
        let mut lines = text.lines().enumerate();
        let found = lines.find(|(_, line)| line.starts_with(&begin));
        found.unwrap_or_else(|| panic!("no {begin:?} in: {text}"))
    };
    let (none, [one, two]) = ("", if parents { ["  ", "    "] } else { ["", ""] });
    let [root, middle, leaf] = [
        begins(none, ids.root),
        begins(one, ids.middle),
        begins(two, ids.leaf),
    ];
    assert!(root.1.contains("\"root\" waits for the event") && !root.1.contains("in group"));
    assert!(middle.1.contains("; in group ") && leaf.1.contains("; in group "));
    let orphan = begins(none, ids.orphan).1;
    let told = format!("; spawned by fibre {}, which is not here", ids.gone);
    assert_eq!(orphan.ends_with(&told), parents, "{orphan}");
    if parents {
        assert_eq!([middle.0, leaf.0], [root.0 + 1, root.0 + 2], "{text}");
        assert!(text.contains("\n  and 20 others\n"), "{text}");
    }
    assert_eq!(text.contains("who has spawned them is not known"), !parents);
    let (_, groups) = text
        .split_once("\ngroups that are cancelled together:\n")
        .unwrap();
    let mut lines = groups.lines();
    let outer = lines.next().unwrap();
    assert!(
        outer.ends_with(&format!(": fibre {}", ids.middle)),
        "{text}"
    );
    let inner = lines.next().unwrap();
    let cancelled = format!(", cancelled: fibre {}", ids.leaf);
    assert!(
        inner.starts_with("  group ") && inner.ends_with(&cancelled),
        "{text}"
    );
    assert!(lines.next().unwrap().starts_with("end of the dump"));
}

/// Shows a family in all forms.
fn show(parents: bool) {
    end_after(Duration::from_secs(60));
    for processors in processor_counts() {
        let cluster = any_cluster().processors(processors).build().unwrap();
        let outer = CancelToken::new();
        let tokens = [outer.clone(), outer.child()];
        // The fibre waits in a call that does not notice.
        tokens[1].cancel();
        let go = Arc::new(Event::new());
        let ids = family(&cluster, &go, &tokens);
        check_json(ids, parents);
        check_tree(ids, parents);
        go.set();
        cluster.stop();
    }
}

#[test]
fn a_dump_shows_parents_and_groups() {
    for (role, parents) in [("noted", true), ("unnoted", false)] {
        if plays(role) {
            return show(parents);
        }
    }
    for (role, noted) in [("noted", "1"), ("unnoted", "0")] {
        let output = spawn_child(role, &[("FIBRE_PARENTS", noted)]);
        assert!(output.status.success(), "{}", errors(&output));
    }
    // The default.
    assert!(spawn_child("unnoted", &[]).status.success());
}

/// The name of the file chooses the form.
#[test]
fn a_signal_has_a_tree_written_to_a_file() {
    let file = std::env::temp_dir().join(format!("fibre-dump-{}.tree", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let settings = [
        ("FIBRE_DUMP", file.to_str().unwrap()),
        ("FIBRE_PARENTS", "1"),
    ];
    let program = || {
        drop(Builder::new().name("above").spawn(|| {
            let below = Builder::new().name("below");
            let below = below.spawn(|| fibre::sleep(Duration::from_secs(3600)));
            below.unwrap().join().unwrap();
        }));
    };
    let victim = super::victim::victim_with(&settings, 2, program);
    victim.send(libc::SIGQUIT);
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    eventually(|| read().contains("end of the dump of process"));
    let text = read();
    let above = text
        .lines()
        .position(|line| line.contains("\"above\" waits for"));
    let below = text.lines().nth(above.unwrap() + 1).unwrap();
    assert!(
        below.starts_with("  fibre ") && below.contains("\"below\" waits for"),
        "{text}"
    );
    assert_eq!(victim.errors(), "");
    std::fs::remove_file(file).unwrap();
}
