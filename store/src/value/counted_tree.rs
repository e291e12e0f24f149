//! A sequence in a B-tree whose nodes count their elements: any position costs O(log n).
//!
//! Elements lie in the leaves. An inner node has for each child its number of elements and a copy
//! of its first one, so that a search in sorted elements touches one node a level.

use std::{iter, mem};

/// Elements of a leaf, and children of an inner node, at most.
const MAX_WIDTH: usize = 64;
/// Fewer make a node merge with its neighbour.
const MIN_WIDTH: usize = MAX_WIDTH / 4;

/// A sequence whose positions cost O(log n). Copies of elements are cheap.
#[derive(Clone, Debug)]
pub struct CountedTree<T> {
    root: Node<T>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Node<T> {
    Leaf(Vec<T>),
    Inner(Vec<Child<T>>),
}

#[derive(Clone, Debug)]
struct Child<T> {
    len: usize,
    first: T,
    node: Box<Node<T>>,
}

impl<T> Default for CountedTree<T> {
    fn default() -> Self {
        Self { root: Node::Leaf(Vec::new()), len: 0 }
    }
}

impl<T: Clone> CountedTree<T> {
    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of leading elements for which `is_before` is true. It must be true for
    /// none after the first for which it is false.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let mut node = &self.root;
        let mut index = 0;
        loop {
            match node {
                Node::Leaf(elements) => return index + elements.partition_point(is_before),
                Node::Inner(children) => {
                    let after = children.partition_point(|child| is_before(&child.first));
                    let at = after.saturating_sub(1);
                    index += children[..at].iter().map(|child| child.len).sum::<usize>();
                    node = &children[at].node;
                }
            }
        }
    }

    /// Inserts an element before the one at `index`, or at the end if `index` is the length.
    ///
    /// # Panics
    ///
    /// If `index` is larger than the length.
    pub fn insert(&mut self, index: usize, element: T) {
        self.root.insert(index, element);
        self.len += 1;
        if let Some(right) = self.root.split() {
            let left = mem::replace(&mut self.root, Node::Leaf(Vec::new()));
            self.root = Node::Inner(vec![Child::new(left), Child::new(right)]);
        }
    }

    /// Removes the element at `index`, and returns it.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn remove(&mut self, index: usize) -> T {
        let removed = self.root.remove(index);
        self.len -= 1;
        if let Node::Inner(children) = &mut self.root
            && children.len() == 1
            && let Some(only) = children.pop()
        {
            self.root = *only.node;
        }
        removed
    }

    /// Takes the elements, in no order that matters. Nodes are freed on the way.
    pub fn into_elements(self) -> impl Iterator<Item = T> {
        let mut nodes = vec![self.root];
        let leaves = iter::from_fn(move || {
            loop {
                match nodes.pop()? {
                    Node::Leaf(elements) => return Some(elements),
                    Node::Inner(children) => nodes.extend(children.into_iter().map(|child| *child.node)),
                }
            }
        });
        leaves.flatten()
    }

    /// Iterates over the elements of a range, from either end. The range is clamped to the
    /// sequence.
    pub fn range(&self, range: std::ops::Range<usize>) -> Range<'_, T> {
        let end = range.end.min(self.len);
        Range { root: &self.root, next: range.start.min(end), end, front: &[], back: &[] }
    }
}

impl<T: Clone> FromIterator<T> for CountedTree<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut tree = Self::default();
        for element in elements {
            tree.insert(tree.len, element);
        }
        tree
    }
}

impl<T: Clone> Child<T> {
    fn new(node: Node<T>) -> Self {
        Self { len: node.len(), first: node.first(), node: Box::new(node) }
    }
}

impl<T: Clone> Node<T> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(elements) => elements.len(),
            Self::Inner(children) => children.iter().map(|child| child.len).sum(),
        }
    }

    /// Returns the number of elements or children.
    fn width(&self) -> usize {
        match self {
            Self::Leaf(elements) => elements.len(),
            Self::Inner(children) => children.len(),
        }
    }

    /// Returns the first element of a node that has one: every node but an empty tree's root.
    fn first(&self) -> T {
        match self {
            Self::Leaf(elements) => elements[0].clone(),
            Self::Inner(children) => children[0].first.clone(),
        }
    }

    fn insert(&mut self, index: usize, element: T) {
        match self {
            Self::Leaf(elements) => elements.insert(index, element),
            Self::Inner(children) => {
                let (at, within) = locate(children, index, true);
                let child = &mut children[at];
                if within == 0 {
                    child.first = element.clone();
                }
                child.len += 1;
                child.node.insert(within, element);
                if let Some(right) = child.node.split() {
                    let right = Child::new(right);
                    child.len -= right.len;
                    children.insert(at + 1, right);
                }
            }
        }
    }

    fn remove(&mut self, index: usize) -> T {
        match self {
            Self::Leaf(elements) => elements.remove(index),
            Self::Inner(children) => {
                let (at, within) = locate(children, index, false);
                let child = &mut children[at];
                let removed = child.node.remove(within);
                child.len -= 1;
                let width = child.node.width();
                if within == 0 && width > 0 {
                    child.first = child.node.first();
                }
                if width < MIN_WIDTH && children.len() > 1 {
                    merge(children, at);
                }
                removed
            }
        }
    }

    /// Cuts off the second half of a node that is too wide.
    fn split(&mut self) -> Option<Self> {
        let width = self.width();
        (width > MAX_WIDTH).then(|| match self {
            Self::Leaf(elements) => Self::Leaf(elements.split_off(width / 2)),
            Self::Inner(children) => Self::Inner(children.split_off(width / 2)),
        })
    }
}

/// Returns the child that has the element at `index`, and the index within it. At a boundary an
/// insertion takes the end of the earlier child.
fn locate<T>(children: &[Child<T>], mut index: usize, inserts: bool) -> (usize, usize) {
    for (at, child) in children.iter().enumerate() {
        if index < child.len + usize::from(inserts) {
            return (at, index);
        }
        index -= child.len;
    }
    panic!("the index is within the sequence")
}

/// Merges the narrow child at `at` with a neighbour. If both are too wide for one, they are cut in
/// the middle.
fn merge<T: Clone>(children: &mut Vec<Child<T>>, at: usize) {
    let left = at.min(children.len() - 2);
    let right = *children.remove(left + 1).node;
    let child = &mut children[left];
    match (child.node.as_mut(), right) {
        (Node::Leaf(elements), Node::Leaf(others)) => elements.extend(others),
        (Node::Inner(grandchildren), Node::Inner(others)) => grandchildren.extend(others),
        _ => unreachable!("leaves are of one depth"),
    }
    let right = child.node.split();
    child.len = child.node.len();
    child.first = child.node.first();
    if let Some(right) = right {
        children.insert(left + 1, Child::new(right));
    }
}

/// Iterates over a range of a [`CountedTree`].
#[derive(Clone, Debug)]
pub struct Range<'a, T> {
    root: &'a Node<T>,
    /// The range that no leaf was fetched for.
    next: usize,
    end: usize,
    /// What is left of the leaves that were fetched for either end.
    front: &'a [T],
    back: &'a [T],
}

impl<'a, T> Range<'a, T> {
    /// Returns the leaf that has the element at `index`, and the index within it.
    fn leaf(&self, mut index: usize) -> (&'a [T], usize) {
        let mut node = self.root;
        loop {
            match node {
                Node::Leaf(elements) => return (elements, index),
                Node::Inner(children) => {
                    let (at, within) = locate(children, index, false);
                    (node, index) = (&children[at].node, within);
                }
            }
        }
    }
}

impl<'a, T> Iterator for Range<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        if self.front.is_empty() && self.next < self.end {
            let (leaf, within) = self.leaf(self.next);
            let count = (leaf.len() - within).min(self.end - self.next);
            self.front = &leaf[within..within + count];
            self.next += count;
        }
        let half = if self.front.is_empty() { &mut self.back } else { &mut self.front };
        let (first, rest) = half.split_first()?;
        *half = rest;
        Some(first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.front.len() + (self.end - self.next) + self.back.len();
        (left, Some(left))
    }
}

impl<'a, T> DoubleEndedIterator for Range<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        if self.back.is_empty() && self.next < self.end {
            let (leaf, within) = self.leaf(self.end - 1);
            let count = (within + 1).min(self.end - self.next);
            self.back = &leaf[within + 1 - count..=within];
            self.end -= count;
        }
        let half = if self.back.is_empty() { &mut self.front } else { &mut self.back };
        let (last, rest) = half.split_last()?;
        *half = rest;
        Some(last)
    }
}

impl<T> ExactSizeIterator for Range<'_, T> {}
