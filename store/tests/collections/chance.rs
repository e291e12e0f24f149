//! Commands whose replies depend on chance.

use super::{builder, engine, run, runtime};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use xtasking_store::resp::Requests;

/// Returns the bulk strings of a reply.
fn elements(reply: &str) -> Vec<&str> {
    let lines: Vec<_> = reply.split("\r\n").collect();
    lines.iter().zip(&lines[1..]).filter(|(line, _)| line.starts_with('$')).map(|(_, next)| *next).collect()
}

#[test]
fn picks_are_members_and_distinct_unless_the_count_is_negative() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    for number in 0..200 {
        run(&mut client, &format!("sadd set m{number}"));
        run(&mut client, &format!("hset hash m{number} v{number}"));
        run(&mut client, &format!("zadd sorted {number} m{number}"));
    }
    for command in ["srandmember set", "hrandfield hash", "zrandmember sorted"] {
        for count in [1, 5, 60, 120, 199, 200, 300] {
            let reply = run(&mut client, &format!("{command} {count}"));
            let picked = elements(&reply);
            let distinct: BTreeSet<_> = picked.iter().collect();
            assert_eq!((picked.len(), distinct.len()), (count.min(200), count.min(200)), "{command}");
            assert!(picked.iter().all(|member| member.starts_with('m')));
        }
        assert_eq!(elements(&run(&mut client, &format!("{command} -500"))).len(), 500);
        assert_eq!(elements(&run(&mut client, command)).len(), 1);
    }
    let reply = run(&mut client, "hrandfield hash -10 withvalues");
    assert!(elements(&reply).chunks(2).all(|pair| pair[0][1..] == pair[1][1..]));
}

#[test]
fn picks_of_compact_values_are_members() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    run(&mut client, "sadd numbers 1 2 3");
    run(&mut client, "sadd set m1 m2 m3");
    run(&mut client, "hset hash m1 v1 m2 v2 m3 v3");
    run(&mut client, "zadd sorted 1 m1 2 m2 3 m3");
    let all = ["1", "2", "3"];
    for command in ["srandmember numbers", "srandmember set", "hrandfield hash", "zrandmember sorted"] {
        for count in [-2, -3, -100, 2, 3] {
            let reply = run(&mut client, &format!("{command} {count}"));
            let picked: Vec<_> =
                elements(&reply).iter().map(|member| member.trim_start_matches('m')).collect();
            assert_eq!(picked.len(), i32::abs(count) as usize, "{command}");
            assert!(picked.iter().all(|member| all.contains(member)), "{command}");
        }
    }
    for command in ["hrandfield hash -20 withvalues", "zrandmember sorted -20 withscores"] {
        let reply = run(&mut client, command);
        let digit = |text: &str| text.trim_start_matches(['m', 'v']).to_owned();
        assert!(elements(&reply).chunks(2).all(|pair| digit(pair[0]) == digit(pair[1])), "{command}");
    }
}

#[test]
fn every_member_is_picked_at_times() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    run(&mut client, "sadd set a b c d e f g h");
    let mut picked = BTreeSet::new();
    for _ in 0..300 {
        let reply = run(&mut client, "srandmember set 2");
        picked.extend(elements(&reply).into_iter().map(str::to_owned));
    }
    assert_eq!(picked.len(), 8);
}

#[test]
fn popped_members_are_gone() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    for number in 0..300 {
        run(&mut client, &format!("sadd set m{number}"));
    }
    let mut popped = BTreeSet::new();
    for command in ["spop set", "spop set 10", "spop set 250", "spop set 1000"] {
        let reply = run(&mut client, command);
        for member in elements(&reply) {
            assert!(popped.insert(member.to_owned()), "{member} was popped twice");
        }
        assert_eq!(run(&mut client, "scard set"), format!(":{}\r\n", 300 - popped.len()));
    }
    assert_eq!(popped.len(), 300);
    assert_eq!(run(&mut client, "exists set"), ":0\r\n");
}

#[test]
fn a_replica_pops_the_same_members() {
    let rt = runtime();
    let told = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&told);
    let followed = builder().on_effects(move |effects| {
        let mut told = own.lock().unwrap_or_else(PoisonError::into_inner);
        told.extend(effects.commands.iter().map(|(_, command)| Requests::one(command)));
    });
    let mut client = followed.build(&rt).client();
    let mut replica = engine(&rt).client();
    for number in 0..100 {
        run(&mut client, &format!("sadd set m{number}"));
    }
    run(&mut client, "spop set");
    run(&mut client, "spop set 20");
    run(&mut client, "spop set 60");
    for command in told.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        replica.run_all(command).expect("a running engine");
    }
    let members = [&mut client, &mut replica].map(|client| run(client, "smembers set"));
    let [own, other] =
        members.each_ref().map(|members| elements(members).into_iter().collect::<BTreeSet<_>>());
    assert_eq!((own.len(), own), (19, other));
}

#[test]
fn a_scan_of_a_large_collection_returns_all_members() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    for number in 0..1000 {
        run(&mut client, &format!("hset hash m{number} v"));
        run(&mut client, &format!("sadd set m{number}"));
        run(&mut client, &format!("zadd sorted 1 m{number}"));
    }
    for command in ["hscan hash", "sscan set", "zscan sorted"] {
        let (mut cursor, mut seen) = ("0".to_owned(), BTreeSet::new());
        loop {
            let reply = run(&mut client, &format!("{command} {cursor} match m* count 7"));
            let all = elements(&reply);
            all[1..].iter().filter(|member| member.starts_with('m')).for_each(|member| {
                seen.insert((*member).to_owned());
            });
            all[0].clone_into(&mut cursor);
            if cursor == "0" {
                break;
            }
            run(&mut client, &format!("sadd set other{cursor}"));
        }
        assert_eq!(seen.len(), 1000, "{command}");
    }
}
