//! SORT with patterns that lead to other keys.

use super::{engine, run, runtime};

#[test]
fn patterns_lead_to_keys_of_all_shards() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut client = engine.client();
    let (mut expected, mut stored) = ("*40\r\n".to_owned(), "*40\r\n".to_owned());
    for number in 10..50 {
        run(&mut client, &format!("rpush list {number}"));
        run(&mut client, &format!("set weight:{number} {}", 100 - number));
        run(&mut client, &format!("hset object:{number} name n{number}"));
        expected += &format!("$2\r\n{}\r\n", 59 - number);
        stored += &format!("$3\r\nn{}\r\n", 59 - number);
    }
    assert_eq!(run(&mut client, "sort list by weight:*"), expected);
    assert_eq!(run(&mut client, "sort_ro list by weight:* get object:*->name"), stored);
    assert_eq!(run(&mut client, "sort list desc get object:*->name store names"), ":40\r\n");
    assert_eq!(run(&mut client, "lrange names 0 -1"), stored);
}
