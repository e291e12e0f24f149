//! A linked structure of one's own: chains of words, which tasks search, count and extend at the
//! same time.
//!
//! The node is a plain struct. Deriving `Version` checks that what changes in it is cells, so that
//! other tasks may read a node while one writes it.
//!
//! `cargo run --release -p xtasking-examples --example word_count`

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;
use xtasking::arena::{Arena, Array, Field, Link, OptionalLink, Step, Written};
use xtasking::bundle::{Hop, Walk, each};
use xtasking::{Context, JoinError, Part, Runtime, Version};

/// A word that was found, in a chain of such. The first node of each chain has no word.
#[derive(Version)]
struct Node {
    word: Box<str>,
    count: Field<u64>,
    next: OptionalLink<Node>,
}

impl Node {
    fn new(word: &str, count: u64) -> Self {
        Self { word: word.into(), count: Field::new(count), next: OptionalLink::none() }
    }
}

/// Counts one occurrence of a word.
struct Count<'a> {
    word: &'a str,
    nodes: &'a Arena<Node>,
}

impl Walk for Count<'_> {
    type Target = Node;
    type Output = ();

    /// Goes along the chain to the node of the word, or to the last one. Beside a writer it may see
    /// a link that is out of date: then the runtime reads the node again.
    fn read(&self, at: Link<Node>, node: &Node) -> Hop<Node, ()> {
        match node.next.get() {
            Some(next) if *node.word != *self.word => Hop::Go(next, Part::HEAD),
            _ => Hop::Write(at, Part::HEAD),
        }
    }

    /// Counts the word, or appends a node for it. No other task writes this node meanwhile.
    fn write(&mut self, _: Link<Node>, node: Written<'_, Node>, cx: &mut Context) -> Hop<Node, ()> {
        if *node.word == *self.word {
            node.count.set(node.count.get() + 1, node.token());
            return Hop::End(());
        }
        match node.next.get() {
            // Another task was faster.
            Some(next) => Hop::Go(next, Part::HEAD),
            None => {
                let last = self.nodes.alloc(Node::new(self.word, 1), cx);
                node.next.set(Some(last), node.token());
                Hop::End(())
            }
        }
    }
}

/// A text of many words, some of them frequent.
fn text(words: u64) -> String {
    let word = |number: u64| {
        let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        format!("word{} ", random % (1 + random % 50_000))
    };
    (0..words).map(word).collect()
}

fn main() -> Result<(), JoinError> {
    let rt = Runtime::new().expect("the machine can start a worker on each core");
    let text = text(1_000_000);
    let words: Vec<&str> = text.split_whitespace().collect();

    let begin = Instant::now();
    let chains = Array::new(&rt, 1 << 16, |_| Node::new("", 0));
    let (links, nodes, hasher) = (chains.links(), Arena::new(&rt), RandomState::new());
    let chain_of = &|word: &str| links.link(hasher.hash_one(word) as usize % links.len());
    rt.task_scope(|scope| {
        for (task, words) in scope.shares(&words[..]) {
            let nodes = &nodes;
            let walks = words.iter().map(move |&word| (chain_of(word).read(), Count { word, nodes }));
            let done = |_, outcome: Result<(), _>, _: &mut Context| outcome.expect("no walk panics");
            task.bundle(each(walks, done));
        }
    })?;
    println!("counted {} words in {:?}", words.len(), begin.elapsed());

    let begin = Instant::now();
    let mut expected = HashMap::new();
    words.iter().for_each(|word| *expected.entry(*word).or_insert(0) += 1);
    println!("a map of the standard library took {:?} on one thread", begin.elapsed());

    for (word, count) in &expected {
        let sought = word.to_string();
        let found = rt.reader().walk(chain_of(word), move |_, node: &Node| match node.next.get() {
            _ if *node.word == *sought => Step::End(Some(node.count.get())),
            Some(next) => Step::Go(next, Part::HEAD),
            None => Step::End(None),
        });
        assert_eq!(found?, Some(*count));
    }
    println!("all {} counts are right, in {} nodes", expected.len(), nodes.stats().live);
    Ok(())
}
