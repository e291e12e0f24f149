use proptest::collection::vec;
use proptest::prelude::*;

use crate::value::counted_tree::CountedTree;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Phases of growth and shrinking, so that the tree gets and loses levels.
    #[test]
    fn tree_is_as_a_vector(phases in vec((any::<bool>(), 0usize..1500, any::<u64>()), 1..8)) {
        let mut model = Vec::new();
        let mut tree = CountedTree::default();
        for (grows, count, mut seed) in phases {
            for _ in 0..count {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let random = (seed >> 33) as usize;
                if grows {
                    let index = random % (model.len() + 1);
                    tree.insert(index, random);
                    model.insert(index, random);
                } else if !model.is_empty() {
                    let index = random % model.len();
                    prop_assert_eq!(tree.remove(index), model.remove(index));
                }
            }
            prop_assert_eq!(tree.len(), model.len());
            prop_assert!(tree.range(0..model.len()).eq(&model));
            prop_assert!(tree.range(0..model.len()).rev().eq(model.iter().rev()));
            let (start, end) = (model.len() / 3, model.len() - model.len() / 4);
            let mut part = tree.range(start..end);
            prop_assert_eq!(part.len(), end - start);
            let mut expected = model[start..end].iter();
            while let Some(first) = expected.next() {
                prop_assert_eq!(part.next(), Some(first));
                prop_assert_eq!(part.next_back(), expected.next_back());
            }
            prop_assert_eq!(part.next(), None);
            for index in (0..=model.len()).step_by(97) {
                prop_assert_eq!(tree.range(index..index + 1).next(), model.get(index));
            }
        }
    }

    #[test]
    fn partition_point_is_as_in_a_vector(len in 0usize..5000, removed in vec(any::<usize>(), 0..200)) {
        let mut model: Vec<_> = (0..len).collect();
        let mut tree: CountedTree<_> = model.iter().copied().collect();
        for index in removed {
            if !model.is_empty() {
                let index = index % model.len();
                tree.remove(index);
                model.remove(index);
            }
        }
        for bound in (0..len + 2).step_by(13) {
            let expected = model.partition_point(|&element| element < bound);
            prop_assert_eq!(tree.partition_point(|&element| element < bound), expected);
        }
    }
}
