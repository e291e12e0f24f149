//! The contenders, a file for each library. A new one has an `ENTRY`, and a line in [`ALL`].

mod own;
mod rayon;
mod sequential;

use super::csr::Graph;

/// A function that returns the distances of all vertices.
pub(super) type Search = Box<dyn Fn(&Graph) -> Vec<u32>>;

pub(super) type Entry = xtasking_harness::lineup::Entry<Search>;

/// All contenders. The first always runs, and ratios are relative to it.
pub(super) static ALL: &[Entry] =
    &[own::BITMAPS, own::CLAIMS, sequential::PLAIN, sequential::BITMAPS, rayon::CLAIMS, rayon::BITMAPS];

#[cfg(test)]
mod tests {
    use super::super::search::sequential;
    use super::*;

    #[test]
    fn all_contenders_find_the_same_distances() {
        for (vertices, edges) in [(1, 0), (1, 5), (50, 20), (64, 640), (1000, 3000), (30_000, 300_000)] {
            let graph = Graph::random(vertices, edges, 13);
            let expected = sequential(&graph);
            for entry in ALL {
                for workers in [1, 3] {
                    let search = (entry.start)(workers).unwrap();
                    assert_eq!(search(&graph), expected, "{} {workers} {vertices}", entry.name);
                }
            }
        }
    }
}
