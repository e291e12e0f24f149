//! Includes the project's documentation pages, so that their code is compiled and run as doc tests.
//! The example programs are in the parent folder.

#![forbid(unsafe_code)]

/// Includes a page of the book as the documentation of an empty module.
macro_rules! pages {
    ($($name:ident: $path:literal;)+) => {$(
        #[cfg(doctest)]
        #[doc = include_str!(concat!("../../", $path))]
        mod $name {}
    )+};
}

// `.ci/book` fails if a page with code is missing here.
pages! {
    readme: "README.md";
    book: "docs/README.md";
    tutorial: "docs/tutorial.md";
    objects: "docs/guide/objects.md";
    tasks: "docs/guide/tasks.md";
    blocking: "docs/guide/blocking.md";
    cancellation: "docs/guide/cancellation.md";
    claims: "docs/guide/claims.md";
    trees: "docs/guide/trees.md";
    queues: "docs/guide/queues.md";
    fork_join: "docs/guide/fork-join.md";
    rayon: "docs/guide/rayon.md";
    optimistic_reads: "docs/guide/optimistic-reads.md";
    bundles: "docs/guide/bundles.md";
    memory: "docs/guide/memory.md";
    service: "docs/guide/service.md";
    events: "docs/guide/events.md";
    platforms: "docs/guide/platforms.md";
    observing: "docs/guide/observing.md";
    inspecting: "docs/guide/inspecting.md";
    index: "docs/guide/index.md";
    hash_map: "docs/guide/hash-map.md";
    columns: "docs/guide/columns.md";
    store: "docs/guide/store.md";
    store_embedding: "docs/guide/store-embedding.md";
    store_log: "docs/guide/store-log.md";
    store_memory: "docs/guide/store-memory.md";
    store_order: "docs/guide/store-order.md";
    knowledge: "docs/guide/knowledge.md";
}
